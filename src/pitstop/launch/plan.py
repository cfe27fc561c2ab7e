"""From configuration to launch value: knobs become arguments, environment or image. Pure; nothing is looked up."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from pitstop.core.config.consistency import BUILT_IN_KNOB, knobs_of
from pitstop.core.config.engine import (
    ComposeLaunch,
    DockerLaunch,
    Engine,
    ProcessLaunch,
    ScriptLaunch,
    SystemdLaunch,
)
from pitstop.core.config.nearest import nearest
from pitstop.core.errors import UsageError
from pitstop.core.secrets import HIDDEN, is_secret, redacted, secret_words
from pitstop.launch import environment
from pitstop.launch.draft import REFERENCE, Draft
from pitstop.launch.launcher import LaunchSpec

_DEFAULT_PORTS = {"http": 80, "https": 443}


def plan(
    name: str,
    engine: Engine,
    overrides: Mapping[str, str] | None = None,
    *,
    environ: Mapping[str, str],
    python: str = sys.executable,
) -> LaunchSpec:
    """The launch value of `engine` with some knobs overridden.

    `environ` supplies PATH and the like, `${NAME}` references in `env`, and the secrets, of which only hashes are kept.
    UsageError for an unknown knob or value (with the nearest), and for a secret that stands in a command line.
    """
    if engine.launch is None:
        raise UsageError(
            f"engine {name} has no [engine.{name}.launch], so pitstop cannot start it.",
            hint="Add one, or measure it as it is with `pitstop bench`.",
        )
    settings = settings_of(name, engine, overrides or {})
    port, host = address_of(engine)
    draft = Draft(name, engine, settings, {"port": str(port), "python": python}, environ)
    draft.is_variant = any(settings[knob] != value for knob, value in knobs_of(engine).items())
    common = {
        "engine": name,
        "port": port,
        "host": host,
        "base_env": environment.base(environ),
        "overrides": dict(overrides or {}),
        "stop_timeout_s": float(engine.stop_timeout),
        "version_argv": draft.filled(engine.launch.version_command),
        "env": draft.env,
        "secret_env": draft.secret_env,
        "secret_digests": draft.secret_digests,
    }
    spec = _build(engine.launch, draft, common)
    _refuse_secrets(name, spec)
    return spec


def settings_of(name: str, engine: Engine, overrides: Mapping[str, str]) -> dict[str, str]:
    """Every knob with the value that it has under `overrides`."""
    knobs = knobs_of(engine)
    for knob, value in overrides.items():
        if knob not in knobs:
            known = ", ".join(sorted(knobs)) or "none"
            raise UsageError(
                f"engine {name} has no knob {knob!r}{nearest(knob, knobs)}", hint=f"Its knobs are: {known}."
            )
        declared = engine.knob.get(knob)
        if declared is not None and declared.values and value not in declared.values:
            raise UsageError(
                f"knob {knob} of engine {name} cannot be {value!r}.", hint=f"It takes: {', '.join(declared.values)}."
            )
    return {**knobs, **overrides}


def address_of(engine: Engine) -> tuple[int, str]:
    """Port and host of the engine's base_url."""
    url = urlsplit(engine.base_url)
    try:
        port = url.port or _DEFAULT_PORTS.get(url.scheme, 80)
    except ValueError as error:
        raise UsageError(f"base_url {engine.base_url!r} has no valid port: {error}.") from error
    return port, url.hostname or ""


def environ_with_literals(engine: Engine, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for `Launcher.start`: with the secrets that stand literally in the configuration added."""
    literals = engine.launch.env if engine.launch is not None else {}
    own = {key: value for key, value in literals.items() if is_secret(key, value) and not REFERENCE.fullmatch(value)}
    return {**environ, **own}


def _build(launch: object, draft: Draft, common: dict[str, object]) -> LaunchSpec:
    match launch:
        case DockerLaunch():
            return _docker(launch, draft, common)
        case ProcessLaunch():
            return _spec(common, launcher="process", argv=draft.filled(launch.command) + draft.args, cwd=launch.cwd)
        case ScriptLaunch():
            return _script(launch, draft, common)
        case ComposeLaunch():
            return _compose(launch, draft, common)
        case SystemdLaunch():
            return _systemd(launch, draft, common)
    raise UsageError(f"engine {draft.name}: pitstop has no launcher for {type(launch).__name__}.")


def _docker(launch: DockerLaunch, draft: Draft, common: dict[str, object]) -> LaunchSpec:
    """`docker run` as a person would type it; the parts that pitstop adds to find it again are not in the value."""
    image = draft.settings[BUILT_IN_KNOB]
    _refuse_own_options(draft.name, launch.run)
    command = draft.filled(launch.command) + draft.args
    run = draft.filled(launch.run)
    if draft.is_variant and any(word.partition("=")[0] == "--restart" for word in run):
        run += ("--restart=no",)  # a candidate that the guard killed, or that died, must stay dead; the last one counts
    settings = [word for key, value in draft.env.items() for word in ("--env", f"{key}={value}")]
    settings += [word for key in draft.secret_env for word in ("--env", key)]
    argv = (
        launch.binary, "run", "--detach", "--pull", "never", "--name", launch.name,
        *run, *settings, image, *command,
    )  # fmt: skip
    return _spec(
        common,
        launcher="docker",
        argv=argv,
        name=launch.name,
        image=image,
        options={"binary": launch.binary, "image_at": str(len(argv) - len(command) - 1)},
    )


def _script(launch: ScriptLaunch, draft: Draft, common: dict[str, object]) -> LaunchSpec:
    return _spec(
        common,
        launcher="script",
        argv=draft.filled(launch.start) + draft.args,
        stop_argv=draft.filled(launch.stop),
        cwd=launch.cwd,
        name=launch.container,
        options={"binary": launch.binary, **({"pidfile": launch.pidfile} if launch.pidfile else {})},
    )


def _compose(launch: ComposeLaunch, draft: Draft, common: dict[str, object]) -> LaunchSpec:
    _refuse_arguments(draft, "compose", "a variable that the compose file reads, as in `${MTP_K:-3}`")
    project = ("--project-name", launch.project) if launch.project else ()
    front = ("docker", "compose", "--file", launch.file, *project)
    return _spec(
        common,
        launcher="compose",
        argv=(*front, "up", "--detach", "--no-deps", "--pull", "never", launch.service),
        stop_argv=(*front, "rm", "--stop", "--force", launch.service),
        name=launch.service,
        options={"file": launch.file, "project": launch.project},
    )


def _systemd(launch: SystemdLaunch, draft: Draft, common: dict[str, object]) -> LaunchSpec:
    _refuse_arguments(draft, "systemd", "a variable that the unit's ExecStart= reads, as in `$MTP_K`")
    front = ("systemctl", "--user") if launch.user else ("systemctl",)
    return _spec(
        common,
        launcher="systemd",
        argv=(*front, "start", launch.unit),
        stop_argv=(*front, "stop", launch.unit),
        name=launch.unit,
        options={"user": "yes" if launch.user else "", "container": launch.container, "binary": launch.binary},
    )


def _spec(common: dict[str, object], **parts: object) -> LaunchSpec:
    return LaunchSpec(**common, **parts)  # type: ignore[arg-type]


def _refuse_arguments(draft: Draft, launcher: str, instead: str) -> None:
    if draft.args:
        raise UsageError(
            f"engine {draft.name}: {launcher} has its command in its own file, so a knob cannot add {draft.args[0]}.",
            hint=f"Give the knob `env = ...` in place of `args`: {instead}.",
        )


def _refuse_own_options(name: str, options: tuple[str, ...]) -> None:
    for option in options:
        if option.partition("=")[0] in ("--name", "--detach", "-d", "--pull", "--cidfile"):
            raise UsageError(
                f"engine {name}: {option} in `run` is set by pitstop itself.",
                hint="Remove it; the container's name is `name`, and pulling is a step of its own.",
            )


def _refuse_secrets(name: str, spec: LaunchSpec) -> None:
    for argv in (spec.argv, spec.stop_argv, spec.version_argv):
        for at in secret_words(argv):
            shown = redacted(argv)[at]
            where = f"{argv[at - 1]} {shown}" if shown == HIDDEN and at else shown
            raise UsageError(
                f"engine {name}: its command line holds a secret ({where}), which everybody on the machine can read.",
                hint="Move it to the launch's `env` (VLLM_API_KEY, LLAMA_API_KEY, HF_TOKEN…), best as "
                'NAME = "${NAME}".',
            )
