"""`with = "compose"`: one service of a compose file, through `docker compose` or docker-compose."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch import command, container, environment, known, logfile, taken
from pitstop.launch.command import CommandFailed, Failure
from pitstop.launch.container import Container
from pitstop.launch.containers import container_log, end, engine_of, image_digest, keep_log, version_inside
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.launch.lock import locked

_QUICK_S = 60.0
_SLOW_S = 300.0
_HASH_LABEL = "com.docker.compose.config-hash"
_PLUGIN, _STANDALONE = ("docker", "compose"), ("docker-compose",)


class ComposeLauncher:
    """Brings one service up and down. Knobs are variables that the compose file reads; secrets reach only compose."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def start(self, spec: LaunchSpec, environ: Mapping[str, str]) -> Running:
        """`compose up --detach` for the service; EngineFailed with what compose said."""
        secrets = environment.secret_values(spec, environ)
        with locked(self._home, spec.engine):
            found = await self.container(spec)
            if found is not None and found.is_up:
                raise UsageError(
                    f"engine {spec.engine} is already up: container {found.id[:12]}.",
                    hint=f"Stop it first: pitstop down {spec.engine}.",
                )
            await asyncio.to_thread(taken.refuse_taken_port, spec)
            try:
                await self._compose(spec, spec.argv, secrets, _SLOW_S)
            except CommandFailed as failed:
                raise EngineFailed(
                    f"engine {spec.engine} could not be started: {failed.message}", hint=failed.hint
                ) from failed
            running = await self.inspect(spec)
        if running is None:
            raise EngineFailed(
                f"compose brought up {spec.name}, and it is gone already.", hint="\n".join(await self.log_tail(spec))
            )
        return running

    async def stop(self, spec: LaunchSpec) -> None:
        """Stop and remove the service's container; its log is kept."""
        with locked(self._home, spec.engine):
            found = await self.container(spec)
            if found is None:
                return
            await end(engine_of(spec), found, spec.stop_timeout_s)
            await keep_log(engine_of(spec), self._home, spec, await engine_of(spec).inspect(found.id) or found)
            await self._compose(spec, spec.stop_argv, {}, _SLOW_S)
            await taken.port_free(spec)

    async def inspect(self, spec: LaunchSpec) -> Running | None:
        found = await self.container(spec)
        if found is None or not found.is_up:
            return None
        seen = container.configured(found, spec.engine)
        return Running(
            engine=spec.engine,
            fingerprint=known.fingerprint(self._home, spec, seen, [spec.options["file"]]),
            started_at=found.state.started_at,
            pid=found.state.pid,
            container_id=found.id,
            image_digest=await image_digest(engine_of(spec), spec, found),
        )

    async def recreatable(self, spec: LaunchSpec) -> str:
        """Why compose would not bring up the same again: no file, no such service, or a file edited since."""
        if missing := await self.startable(spec):
            return missing
        said = await self._hash(spec)
        found = await self.container(spec)
        if found is None or not found.is_up or spec.secret_env:  # a hash made without the secrets would always differ
            return ""
        would_be, was = said.split()[-1] if said.split() else "", found.labels.get(_HASH_LABEL, "")
        if would_be and was and would_be != was:
            return (
                f"service {spec.name} was brought up from another version of {spec.options['file']} or its variables."
            )
        return ""

    async def startable(self, spec: LaunchSpec) -> str:
        """Why compose would not bring it up with these variables: a secret, the file, the service, or its image."""
        if unset := environment.unset_secrets(spec):
            return unset
        try:
            await self._hash(spec)
        except CommandFailed as failed:
            return f"compose does not accept {spec.options['file']}: {failed.message}"
        return await self._missing_image(spec)

    async def remembered(self, spec: LaunchSpec) -> LaunchSpec:
        return spec

    async def foreign_listener(self, spec: LaunchSpec) -> str:
        return await asyncio.to_thread(taken.strangers, spec, await self.container(spec))

    async def exit_state(self, spec: LaunchSpec) -> int | None:
        found = await self.container(spec)
        return None if found is None or found.state.running else found.state.exit_code

    async def version(self, spec: LaunchSpec) -> str | None:
        found = await self.container(spec)
        return await version_inside(engine_of(spec), spec, found.id) if found is not None else None

    async def container(self, spec: LaunchSpec) -> Container | None:
        """The service's one container, up or not; UsageError when it is scaled to several."""
        said = await self._compose(spec, [*_front(spec), "ps", "--all", "--quiet", spec.name], {}, _QUICK_S)
        ids = said.split()
        if len(ids) > 1:
            raise UsageError(
                f"service {spec.name} has {len(ids)} containers; an engine is one.", hint="Scale the service to one."
            )
        return await engine_of(spec).inspect(ids[0]) if ids else None

    def log_path(self, spec: LaunchSpec) -> Path | None:
        return self._home.logs / f"{spec.engine}.log"

    async def log_tail(self, spec: LaunchSpec, lines: int = 20) -> list[str]:
        found = await self.container(spec)
        live = await container_log(engine_of(spec), found.id, lines) if found is not None else []
        return live or logfile.tail(self.log_path(spec), lines)

    async def _hash(self, spec: LaunchSpec) -> str:
        return await self._compose(spec, [*_front(spec), "config", "--hash", spec.name], {}, _QUICK_S)

    async def _missing_image(self, spec: LaunchSpec) -> str:
        """Older compose cannot name images; then the start finds out, and that arm fails."""
        try:
            said = await self._compose(spec, [*_front(spec), "config", "--images", spec.name], {}, _QUICK_S)
        except CommandFailed:
            return ""
        images = said.split()
        if len(images) == 1 and await engine_of(spec).image(images[0]) is None:
            return f"its image {images[0]} is not on this machine, and a launch never pulls (compose pull it first)."
        return ""

    async def _compose(
        self, spec: LaunchSpec, argv: Sequence[str], secrets: Mapping[str, str], timeout_s: float
    ) -> str:
        environ = {**spec.base_env, **spec.env, **secrets}
        for front in (_PLUGIN, _STANDALONE):
            try:
                done = await command.run(dialect(argv, front), environ=environ, timeout_s=timeout_s, cwd=spec.cwd)
            except CommandFailed as failed:
                if front is _STANDALONE or not _has_no_plugin(failed):
                    raise
            else:
                return done.out
        raise AssertionError("the loop returns or raises")


def dialect(argv: Sequence[str], front: Sequence[str]) -> list[str]:
    """The same command for `docker compose` or the older docker-compose, whose `up` has no `--pull`. Pure."""
    words = list(argv[len(_PLUGIN) :])
    if tuple(front) == _STANDALONE and "--pull" in words:
        at = words.index("--pull")
        del words[at : at + 2]
    return [*front, *words]


def _front(spec: LaunchSpec) -> list[str]:
    project = ["--project-name", spec.options["project"]] if spec.options.get("project") else []
    return [*_PLUGIN, "--file", spec.options["file"], *project]


def _has_no_plugin(failed: CommandFailed) -> bool:
    """What docker says when its compose plugin is not installed: it takes the words for its own options."""
    said = failed.said.lower()
    return failed.failure is Failure.MISSING or "is not a docker command" in said or "unknown flag: --file" in said
