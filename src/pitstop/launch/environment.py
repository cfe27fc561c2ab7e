"""What an engine's process sees of the environment: what its launch value says, and nothing that happened to be set."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pitstop.core.errors import UsageError
from pitstop.launch.launcher import NOT_SET, LaunchSpec
from pitstop.launch.mark import Mark

# What a program needs to find its way. Everything else that an engine reads has to stand in its `env`, so that a
# variable left set in some shell cannot turn production into something else.
_BASE = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST", "CONTAINERS_CONF",
)  # fmt: skip
# Programs that rename themselves then do so without overwriting the environment by which they are found.
_KEEP_ENVIRONMENT = {"SPT_NOENV": "1"}


def base(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that is kept with a launch value."""
    return {key: value for key, value in environ.items() if key in _BASE or key.startswith("LC_")}


def secret_values(spec: LaunchSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """The values of the engine's secrets; UsageError names the variable that is not set."""
    missing = sorted({source for source in spec.secret_env.values() if source not in environ})
    if missing:
        raise UsageError(
            f"engine {spec.engine} needs {', '.join(missing)} in the environment, and pitstop does not store secrets.",
            hint="Export it where pitstop runs; for a systemd unit, name a file with it in EnvironmentFile=.",
        )
    return {name: environ[source] for name, source in spec.secret_env.items()}


def unset_secrets(spec: LaunchSpec) -> str:
    """Which secrets the launch value was planned without, in a sentence, or ""."""
    unset = [name for name, value in spec.secret_digests.items() if value == NOT_SET]
    return f"{', '.join(unset)} is not set in the environment, so it would start without." if unset else ""


def of_child(spec: LaunchSpec, secrets: Mapping[str, str], mark: Mark) -> dict[str, str]:
    """The whole environment of the engine's first process."""
    return {**spec.base_env, **_KEEP_ENVIRONMENT, **spec.env, **secrets, **mark.as_environ()}


def missing_program(spec: LaunchSpec) -> str:
    """Why the command cannot be executed, in a sentence, or ""."""
    if not spec.argv:
        return "its command is empty."
    if spec.cwd and not Path(spec.cwd).is_dir():
        return f"its folder {spec.cwd} does not exist."
    program = spec.argv[0]
    if "/" in program:
        place = Path(spec.cwd or ".") / program
        found = shutil.which(str(place)) if place.is_file() else None
    else:
        found = shutil.which(program, path=spec.base_env.get("PATH"))
    return "" if found else f"{program} is not an executable program here."
