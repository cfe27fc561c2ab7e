"""The contract of every launcher: a launch is a value that can be printed, compared, stored and run again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from pitstop.launch.container import Container

OBSERVED = "seen-"  # begins a fingerprint of what is not what the launch value it is compared with would make
NOT_SET = "not set"  # in place of a digest: the secret was not in the environment when the launch was planned


class LaunchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The whole launch value: enough to start the engine again on a machine that lost everything else.

    Stored in the trial's journal before production is touched. It holds no secret: `secret_env` names variables whose
    values are read at launch from the environment given to `start`; of the values only `secret_digests` are kept.
    """

    engine: str
    launcher: str  # docker | process | script | compose | systemd
    argv: tuple[str, ...]
    port: int
    host: str = "127.0.0.1"  # where clients reach it: a listener on another address is no conflict
    env: dict[str, str] = {}
    secret_env: dict[str, str] = {}  # the engine's variable: the variable of our environment that holds its value
    secret_digests: dict[str, str] = {}  # slow, short hashes, so that another value is another engine
    base_env: dict[str, str] = {}  # PATH, HOME and the like as they were planned; all that a child inherits
    cwd: str = ""
    name: str = ""  # container, unit or service
    image: str = ""  # the reference with its digest
    stop_argv: tuple[str, ...] = ()
    overrides: dict[str, str] = {}
    options: dict[str, str] = {}  # what a launcher needs beside: binary, pidfile, compose file…
    version_argv: tuple[str, ...] = ()
    stop_timeout_s: float = 60.0

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits over everything that decides what runs; equal fingerprints mean the same engine."""
        deciding = (
            self.launcher,
            self.argv,
            sorted(self.env.items()),
            sorted(self.secret_digests.items()),
            self.cwd,
            self.name,
            self.image,
            self.port,
        )
        return hashlib.sha256(msgspec.json.encode(deciding)).hexdigest()[:12]


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that is up, as the operating system or the container engine reports it."""

    engine: str
    fingerprint: str  # read back from what runs, not copied from what was ordered
    started_at: str  # ISO 8601, UTC
    pid: int | None = None  # the root of its process tree, in the host's numbering
    container_id: str | None = None
    image_digest: str | None = None


class Launcher(Protocol):
    """Starts and stops one engine. Each method looks at the world again before it acts.

    `start` returns as soon as the engine exists (not: is ready) and raises UsageError when the port or the name is
    taken (and by whom), EngineFailed when it could not be started. `stop` returns only when the whole process tree is
    gone and the port is free; stopping what is not up is no error. `inspect` returns None when the engine is not up; it
    never reports somebody else's process. `recreatable` returns why this engine could not be started again, or "".
    `startable` returns why this launch value could not be started here at all (program, image, secret), or "".
    `foreign_listener` names who listens on the engine's port without belonging to the engine, or "".
    `remembered` adds to a launch value what only the running engine can tell (its image's content): ask before a stop.
    `version` is what the engine says inside (`version_command`); None: not asked, or no answer.
    `container` is the engine's container, up or not, as its container engine describes it; None where there is none.
    `exit_state` is how an engine that is down ended: exit code, or its signal as a negative number; None: not known.
    """

    async def start(self, spec: LaunchSpec, environ: Mapping[str, str]) -> Running: ...

    async def stop(self, spec: LaunchSpec) -> None: ...

    async def inspect(self, spec: LaunchSpec) -> Running | None: ...

    async def recreatable(self, spec: LaunchSpec) -> str: ...

    async def startable(self, spec: LaunchSpec) -> str: ...

    async def foreign_listener(self, spec: LaunchSpec) -> str: ...

    async def remembered(self, spec: LaunchSpec) -> LaunchSpec: ...

    async def version(self, spec: LaunchSpec) -> str | None: ...

    async def exit_state(self, spec: LaunchSpec) -> int | None: ...

    async def container(self, spec: LaunchSpec) -> Container | None: ...

    def log_path(self, spec: LaunchSpec) -> Path | None: ...

    async def log_tail(self, spec: LaunchSpec, lines: int = 20) -> list[str]: ...
