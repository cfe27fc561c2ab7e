"""`with = "docker"` (and podman): a container whose whole `docker run` is a value."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch import container, environment, logfile, proc, record
from pitstop.launch.command import CommandFailed, Failure
from pitstop.launch.container import LABEL_ENGINE, LABEL_FINGERPRINT, Container
from pitstop.launch.container_engine import ContainerEngine
from pitstop.launch.containers import (
    container_log,
    end,
    engine_of,
    hold,
    image_digest,
    keep_log,
    remember_image,
    version_inside,
)
from pitstop.launch.launcher import OBSERVED, LaunchSpec, Running
from pitstop.launch.lock import locked
from pitstop.launch.record import LaunchRecord
from pitstop.launch.taken import port_free, refuse_taken_port, strangers

_NAME_FREE_S = 30.0
_POLL_S = 0.25
# That a container could not be made says nothing about it in these cases.
_NOBODYS_FAULT = (Failure.DAEMON_DOWN, Failure.MISSING, Failure.FORBIDDEN, Failure.TIMED_OUT, Failure.KILLED)
_VERDICTS: dict[tuple[str, str, str], str] = {}  # container and launch value compared: the fingerprint that came of it


class DockerLauncher:
    """Starts, finds and stops one container by its name; says what it is by comparing it with what would be made."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def start(self, spec: LaunchSpec, environ: Mapping[str, str]) -> Running:
        """Run the container; UsageError when it is up or its port is taken, EngineFailed when it cannot be made."""
        secrets = environment.secret_values(spec, environ)
        engine = engine_of(spec)
        with locked(self._home, spec.engine):
            await self._clear_name(engine, spec)
            await asyncio.to_thread(refuse_taken_port, spec)
            record.write(self._home, LaunchRecord(spec=spec, state="starting", boot_id=proc.boot_id(), launch=""))
            made = await self._run(engine, spec, secrets)
            self._note(spec, made)
            return await self._running(engine, spec, made)

    async def stop(self, spec: LaunchSpec) -> None:
        """End the container and every process in it; its log is kept, and one that pitstop made is removed."""
        engine = engine_of(spec)
        with locked(self._home, spec.engine):
            found, renamed = await engine.inspect(spec.name), await self._renamed(engine, spec)
            if found is not None:
                await end(engine, found, spec.stop_timeout_s)
                await self._put_away(engine, spec, found)
            if renamed is not None:  # whoever gave it another name wants to keep it, but it holds memory and port
                await end(engine, renamed, spec.stop_timeout_s)
                await hold(engine, renamed)
            if found is not None or renamed is not None:
                await port_free(spec)
            record.remove(self._home, spec.engine)

    async def inspect(self, spec: LaunchSpec) -> Running | None:
        """The container as it runs, with the fingerprint of what it really is; None when it is not up."""
        found = await self.container(spec)
        return await self._running(engine_of(spec), spec, found) if found is not None and found.is_up else None

    async def recreatable(self, spec: LaunchSpec) -> str:
        """Why the running container could not be made again as it is: asked before anything is stopped."""
        if missing := await self.startable(spec):
            return missing
        found = await self.container(spec)
        return await self._why_not_the_same(spec, found) if found is not None and found.is_up else ""

    async def startable(self, spec: LaunchSpec) -> str:
        """Why it could not be run here: a secret that is not set, an image that is not on this machine."""
        if unset := environment.unset_secrets(spec):
            return unset
        engine = engine_of(spec)
        if await engine.image(spec.options.get("image_id") or spec.image) is not None:
            return ""
        return (
            f"its image {spec.image} is not on this machine, and neither a launch nor a restore ever pulls "
            f"(fetch it first: {engine.binary} pull {spec.image})."
        )

    async def remembered(self, spec: LaunchSpec) -> LaunchSpec:
        """The launch value with the content of the image that runs now, in case its tag is moved meanwhile."""
        return remember_image(spec, await self.container(spec))

    async def foreign_listener(self, spec: LaunchSpec) -> str:
        found = await self.container(spec)
        return await asyncio.to_thread(strangers, spec, found)

    async def exit_state(self, spec: LaunchSpec) -> int | None:
        found = await self.container(spec)
        return None if found is None or found.state.running else found.state.exit_code

    async def version(self, spec: LaunchSpec) -> str | None:
        """What the engine inside calls its version; None when no command was configured, or it failed."""
        found = await self.container(spec)
        return await version_inside(engine_of(spec), spec, found.id) if found is not None else None

    async def container(self, spec: LaunchSpec) -> Container | None:
        """The one under its name; else the one that was started under it and runs on, when somebody renamed that."""
        engine = engine_of(spec)
        named = await engine.inspect(spec.name)
        return named if named is not None and named.is_up else await self._renamed(engine, spec) or named

    def log_path(self, spec: LaunchSpec) -> Path | None:
        return self._home.logs / f"{spec.engine}.log"

    async def log_tail(self, spec: LaunchSpec, lines: int = 20) -> list[str]:
        """From the container while it exists, from the kept log after that."""
        found = await self.container(spec)
        said = await container_log(engine_of(spec), found.id, lines) if found is not None else []
        return said or logfile.tail(self.log_path(spec), lines)

    async def differences(self, spec: LaunchSpec, found: Container) -> list[str]:
        """What the running container has otherwise than the launch value would make."""
        engine = engine_of(spec)
        wanted = await engine.twin(run_argv(spec), spec.name)
        return container.differences(found, wanted, spec.engine, spec.secret_digests)

    async def _renamed(self, engine: ContainerEngine, spec: LaunchSpec) -> Container | None:
        """The container that pitstop started last, when it runs under another name by now; None otherwise."""
        noted = record.read(self._home, spec.engine)
        if noted is None or noted.container_id is None:
            return None
        found = await engine.inspect(noted.container_id)
        if found is None or not found.is_up or not is_ours(found, spec):
            return None
        return found if found.name.removeprefix("/") != spec.name else None

    async def _clear_name(self, engine: ContainerEngine, spec: LaunchSpec) -> None:
        found = await self.container(spec)
        if found is None:
            return
        if found.is_up:
            raise UsageError(
                f"engine {spec.engine} is already up: container {found.name.removeprefix('/')} ({found.id[:12]}), "
                f"since {found.state.started_at}.",
                hint=f"Stop it first: pitstop down {spec.engine}.",
            )
        await end(engine, found, 1.0)
        await self._put_away(engine, spec, found)
        if not is_ours(found, spec):
            # Somebody else's definition may exist nowhere but in this container: it is kept, under another name.
            await engine.rename(found.id, f"{spec.name}.before-{found.id[:12]}")

    async def _put_away(self, engine: ContainerEngine, spec: LaunchSpec, found: Container) -> None:
        """Keep the log; then remove what pitstop made, and keep everything else from coming back by itself."""
        if is_ours(found, spec):
            await keep_log(engine, self._home, spec, await engine.inspect(found.id) or found)
            await engine.remove(found.id)
        else:
            await hold(engine, found)

    async def _run(self, engine: ContainerEngine, spec: LaunchSpec, secrets: Mapping[str, str]) -> Container:
        deadline = asyncio.get_running_loop().time() + _NAME_FREE_S
        while True:
            try:
                made = await engine.run(await pinned_argv(engine, spec), secrets)
                break
            except CommandFailed as failed:
                name_is_busy = failed.failure in (Failure.NAME_TAKEN, Failure.REMOVAL_RUNNING)
                if not name_is_busy or asyncio.get_running_loop().time() > deadline:
                    raise _could_not_start(spec, engine, failed) from failed
            await asyncio.sleep(_POLL_S)
            await self._clear_name(engine, spec)
        found = await engine.inspect(made)
        if found is None:
            raise EngineFailed(
                f"container {spec.name} of engine {spec.engine} was started and is gone already.",
                hint="It was probably run with --rm and ended at once; without --rm its log would still be there.",
            )
        return found

    def _note(self, spec: LaunchSpec, made: Container) -> None:
        noted = LaunchRecord(
            spec=spec,
            state="started",
            boot_id=proc.boot_id(),
            launch="",
            pid=made.state.pid or None,
            container_id=made.id,
            image_id=made.image,
            configured=container.configured(made, spec.engine),
            restart_policy=made.restart_policy,
        )
        record.write(self._home, noted)

    async def _running(self, engine: ContainerEngine, spec: LaunchSpec, found: Container) -> Running:
        return Running(
            engine=spec.engine,
            fingerprint=await self._fingerprint(spec, found),
            started_at=found.state.started_at,
            pid=found.state.pid or None,
            container_id=found.id,
            image_digest=await image_digest(engine, spec, found),
        )

    async def _fingerprint(self, spec: LaunchSpec, found: Container) -> str:
        """Of what we made, as long as it is unchanged; of anything else, by comparison with what would be made."""
        seen = container.configured(found, spec.engine)
        noted = record.read(self._home, spec.engine)
        if noted is not None and noted.container_id == found.id and noted.configured == seen:
            return noted.spec.fingerprint
        compared = (found.id, seen, spec.fingerprint)
        if compared not in _VERDICTS:
            try:
                same = not await self.differences(spec, found)
            except CommandFailed:
                return OBSERVED + seen  # cannot be compared now: then it is only what it looks like
            _VERDICTS[compared] = spec.fingerprint if same else OBSERVED + seen
        return _VERDICTS[compared]

    async def _why_not_the_same(self, spec: LaunchSpec, found: Container) -> str:
        project = found.labels.get("com.docker.compose.project")
        if project:
            service = found.labels.get("com.docker.compose.service", "?")
            return f'it belongs to compose project {project}, service {service}: configure it `with = "compose"`.'
        different = await self.differences(spec, found)
        if not different:
            return ""
        lost = " It was started with --rm, so stopping it destroys it." if found.host.get("AutoRemove") else ""
        return (
            f"the running container {spec.name} is not what the configuration would make: {'; '.join(different)}.{lost}"
        )


def run_argv(spec: LaunchSpec) -> tuple[str, ...]:
    """The launch value's command with the labels by which the container is found again: shown and run like this."""
    labels = ("--label", f"{LABEL_ENGINE}={spec.engine}", "--label", f"{LABEL_FINGERPRINT}={spec.fingerprint}")
    at = spec.argv.index("run") + 1
    return (*spec.argv[:at], *labels, *spec.argv[at:])


async def pinned_argv(engine: ContainerEngine, spec: LaunchSpec) -> tuple[str, ...]:
    """`run_argv`, with the remembered content of the image where its name leads elsewhere by now."""
    argv, wanted = run_argv(spec), spec.options.get("image_id")
    if not wanted:
        return argv
    now = await engine.image(spec.image)
    if now is not None and now[0] == wanted:
        return argv
    at = len(argv) - len(spec.argv) + int(spec.options["image_at"])
    return (*argv[:at], wanted, *argv[at + 1 :])


def is_ours(found: Container, spec: LaunchSpec) -> bool:
    """Whether pitstop made this container, for this engine."""
    return found.labels.get(LABEL_ENGINE) == spec.engine


def _could_not_start(spec: LaunchSpec, engine: ContainerEngine, failed: CommandFailed) -> Exception:
    if failed.failure is Failure.NOT_FOUND and "image" in failed.said.lower():
        return EngineFailed(
            f"engine {spec.engine}: the image {spec.image} is not on this machine, and a launch never pulls.",
            hint=f"Fetch it first: {engine.binary} pull {spec.image}",
        )
    if failed.failure in _NOBODYS_FAULT:
        return failed
    return EngineFailed(f"engine {spec.engine} could not be started: {failed.message}", hint=failed.hint)
