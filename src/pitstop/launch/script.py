"""`with = "script"`: the user's own launcher, called with knobs in its environment.

What it brings up is found by the container or the pidfile that it names, or by the mark that its processes carry.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch import command, container, environment, known, logfile, proc, record, taken
from pitstop.launch.command import CommandFailed
from pitstop.launch.container import POLICIES_THAT_REVIVE, Container
from pitstop.launch.containers import container_log, end, engine_of, hold, image_digest, version_inside
from pitstop.launch.launcher import OBSERVED, LaunchSpec, Running
from pitstop.launch.lock import locked
from pitstop.launch.mark import Mark
from pitstop.launch.process import ProcessLauncher
from pitstop.launch.strays import Before, Bystanders, end_strays
from pitstop.launch.tree import Root

_APPEARS_WITHIN_S = 180.0  # a script may create a container from a large image first
_AFTER_ITS_END_S = 15.0  # once the script has ended, what it started should be there
_POLL_S = 0.1
_MISSES = 5  # a program in the middle of becoming another one is out of sight for a moment
_SAID_LINES = 20
_SETTLED_S = 2.0  # a shell has become the engine by then


class ScriptLauncher:
    """Calls a start and a stop script; believes what it sees afterwards, not their exit codes alone."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._process = ProcessLauncher(home)

    async def start(self, spec: LaunchSpec, environ: Mapping[str, str]) -> Running:
        """Run the start script until its engine appears; EngineFailed when the script fails, or nothing appears."""
        secrets = environment.secret_values(spec, environ)
        with locked(self._home, spec.engine):
            if (running := await self.inspect(spec)) is not None:
                raise UsageError(
                    f"engine {spec.engine} is already up: {_where(running)}.",
                    hint=f"Stop it first: pitstop down {spec.engine}.",
                )
            await asyncio.to_thread(taken.refuse_taken_port, spec)
            held = record.read(self._home, spec.engine)
            before = await self._look_around(spec)
            self._process.spawn(spec, secrets)
            try:
                running = await self._appeared(spec)
            except asyncio.CancelledError:
                await self._end_strays(spec, before)
                raise
            except EngineFailed as error:
                raise EngineFailed(error.message + await self._end_strays(spec, before), hint=error.hint) from error
            Bystanders(self._home, spec.engine).forget()
            await self._give_policy_back(spec, held)
            return running

    async def stop(self, spec: LaunchSpec) -> None:
        """Run the stop script, then make sure: container, pidfile's process and everything with the mark are ended."""
        with locked(self._home, spec.engine):
            await self._end_strays(spec, Bystanders(self._home, spec.engine).noted())
            failed = await self._call_stop(spec)
            found = await self.container(spec)
            policy = found.restart_policy if found else None
            if found is not None:
                await end(engine_of(spec), found, spec.stop_timeout_s)
                await self._hold(spec, found)
            for root in self._pidfile_roots(spec):
                await self._process.end(spec, root)
            await self._process.end(spec, None)
            await taken.port_free(spec)
            self._remember_policy(spec, found, policy)
            if await self.inspect(spec) is not None:
                raise EngineFailed(f"engine {spec.engine} is still up after its stop script.", hint=failed)

    async def inspect(self, spec: LaunchSpec) -> Running | None:
        """What runs under the container's name, the pidfile's number, or the mark; with what it was seen to be."""
        if spec.name:
            found = await self.container(spec)
            return await self._of_container(spec, found) if found is not None and found.is_up else None
        return await asyncio.to_thread(self._of_process, spec)

    async def recreatable(self, spec: LaunchSpec) -> str:
        """Why the script could not start it again."""
        if missing := await self.startable(spec):
            return missing
        running = await self.inspect(spec)
        if running is None or running.fingerprint == spec.fingerprint:
            return ""
        return f"what runs ({_where(running)}) is not what its script was seen to start ({running.fingerprint})."

    async def startable(self, spec: LaunchSpec) -> str:
        return environment.unset_secrets(spec) or environment.missing_program(spec)

    async def remembered(self, spec: LaunchSpec) -> LaunchSpec:
        return spec

    async def foreign_listener(self, spec: LaunchSpec) -> str:
        if spec.name:
            return await asyncio.to_thread(taken.strangers, spec, await self.container(spec))
        roots = self._pidfile_roots(spec)
        return await asyncio.to_thread(self._process.foreign, spec, roots[0] if roots else None)

    async def exit_state(self, spec: LaunchSpec) -> int | None:
        found = await self.container(spec)
        if found is not None:
            return None if found.state.running else found.state.exit_code
        state = await self._process.exit_state(spec)
        return state or None  # a script that ended well says nothing about the engine that it left behind

    async def version(self, spec: LaunchSpec) -> str | None:
        if spec.name:
            return await version_inside(engine_of(spec), spec, spec.name)
        return await command.printed_version(spec)

    async def container(self, spec: LaunchSpec) -> Container | None:
        return await engine_of(spec).inspect(spec.name) if spec.name else None

    def log_path(self, spec: LaunchSpec) -> Path | None:
        return self._process.log_path(spec)

    async def log_tail(self, spec: LaunchSpec, lines: int = 20) -> list[str]:
        of_script = logfile.tail(self.log_path(spec), lines, this_start_only=True)
        of_engine = await container_log(engine_of(spec), spec.name, lines) if spec.name else []
        return [*of_script, *of_engine][-lines:]

    async def _appeared(self, spec: LaunchSpec) -> Running:
        loop = asyncio.get_running_loop()
        began, misses = loop.time(), 0
        deadline = began + _APPEARS_WITHIN_S
        while True:
            state = await self._process.exit_state(spec)
            if state not in (None, 0):
                raise self._failed(spec, f"ended with exit code {state}")
            running = await self.inspect(spec)
            # By its mark alone the script itself looks like the engine, until it has ended, or turns out to be it.
            is_settled = spec.name or "pidfile" in spec.options or state == 0 or loop.time() > began + _SETTLED_S
            if running is not None and is_settled:
                return running
            if state == 0:
                deadline = min(deadline, loop.time() + _AFTER_ITS_END_S)
                misses = misses + 1 if await self._has_died(spec) else 0
                if misses >= _MISSES:
                    of_engine = await container_log(engine_of(spec), spec.name, _SAID_LINES) if spec.name else []
                    raise self._failed(spec, "brought up an engine that died at once", of_engine)
            if loop.time() > deadline:
                raise self._failed(spec, "did not bring up an engine")
            await asyncio.sleep(_POLL_S)

    async def _look_around(self, spec: LaunchSpec) -> Before | None:
        """Who is up; what a script brought up whose end nobody saw is no bystander, but a stray still."""
        if not spec.name:
            return None
        noted = Bystanders(self._home, spec.engine)
        before = Before(await engine_of(spec).up(), time.time())
        if (earlier := noted.noted()) is not None:
            before = Before(before.ids & earlier.ids, before.at_s)
        noted.note(before)
        return before

    async def _end_strays(self, spec: LaunchSpec, before: Before | None) -> str:
        """End a script that did not get through, and what it brought up under another name; that, as a sentence."""
        if before is None:
            return ""
        await self._process.end(spec, None)
        strays = await end_strays(engine_of(spec), spec, before, _APPEARS_WITHIN_S + _AFTER_ITS_END_S)
        Bystanders(self._home, spec.engine).forget()
        return f" It brought up {' and '.join(strays)} instead of {spec.name}; that was stopped." if strays else ""

    async def _has_died(self, spec: LaunchSpec) -> bool:
        """Whether what the script brought up is there to see, and down."""
        if spec.name:
            found = await self.container(spec)
            return found is not None and found.state.status in ("exited", "dead")
        if name := spec.options.get("pidfile"):
            return await asyncio.to_thread((Path(spec.cwd or ".") / name).exists)
        return True  # nothing with the mark is left, and nothing else was named to look for

    def _failed(self, spec: LaunchSpec, what: str, of_engine: Sequence[str] = ()) -> EngineFailed:
        """With the script's own last words; a container under the name may still be the one before."""
        of_script = logfile.tail(self.log_path(spec), _SAID_LINES, this_start_only=True)
        lines = "\n".join(f"  {line}" for line in (*of_script, *of_engine))
        return EngineFailed(
            f"the start script of engine {spec.engine} {what}: {command.shown(spec.argv)}.", hint=f"It said:\n{lines}"
        )

    async def _call_stop(self, spec: LaunchSpec) -> str:
        if not spec.stop_argv:
            return ""
        environ = {**spec.base_env, **spec.env}
        try:
            await command.run(spec.stop_argv, environ=environ, timeout_s=spec.stop_timeout_s + 60.0, cwd=spec.cwd)
        except CommandFailed as failed:
            return failed.message
        return ""

    async def _of_container(self, spec: LaunchSpec, found: Container) -> Running:
        seen = container.configured(found, spec.engine)
        return Running(
            engine=spec.engine,
            fingerprint=known.fingerprint(self._home, spec, seen, sources(spec)),
            started_at=found.state.started_at,
            pid=found.state.pid,
            container_id=found.id,
            image_digest=await image_digest(engine_of(spec), spec, found),
        )

    def _of_process(self, spec: LaunchSpec) -> Running | None:
        roots = self._pidfile_roots(spec)
        if not roots:
            return None if "pidfile" in spec.options else self._process.look(spec)
        process = proc.read(roots[0].pid)
        if process is None or process.is_dead:
            return None
        return Running(
            engine=spec.engine,
            fingerprint=self._fingerprint(spec, process),
            started_at=proc.started_at(process),
            pid=process.pid,
        )

    def _fingerprint(self, spec: LaunchSpec, process: proc.Process) -> str:
        """By its command line, and by the turned knobs that its environment holds.

        A process that is only just there may still be the shell that becomes the engine: then only its mark counts.
        """
        environ = proc.environment(process.pid) or {}
        mark, noted = Mark.read(environ), record.read(self._home, spec.engine)
        ordered = noted.spec if mark and noted and noted.spec.fingerprint == mark.fingerprint else spec
        turned = [f"{key}={environ.get(key)}" for key in sorted(ordered.env) if ordered.overrides and key in environ]
        seen = known.digest(*proc.arguments(process.pid), *turned)
        if time.time() - proc.started_s(process) < _SETTLED_S:
            if mark is None and not environ and noted is not None:  # in the middle of becoming another program
                return noted.spec.fingerprint
            return mark.fingerprint if mark else OBSERVED + seen
        return known.fingerprint(self._home, ordered, seen, sources(spec))

    def _pidfile_roots(self, spec: LaunchSpec) -> list[Root]:
        """The process that the pidfile names, unless the number was given away after the file was written."""
        if not (name := spec.options.get("pidfile")):
            return []
        path = Path(spec.cwd or ".") / name
        try:
            pid, written_s = int(path.read_text().split()[0]), path.stat().st_mtime
        except (OSError, ValueError, IndexError):
            return []
        process = proc.read(pid)
        if process is None or process.is_dead or proc.started_s(process) > written_s + 1.0:
            return []
        return [Root(pid, process.start_ticks)]

    async def _hold(self, spec: LaunchSpec, found: Container) -> None:
        """A policy that would bring the container back in the middle of a test is switched off."""
        left = await self.container(spec)
        if left is not None and left.id == found.id:
            await hold(engine_of(spec), left)

    def _remember_policy(self, spec: LaunchSpec, found: Container | None, policy: str | None) -> None:
        if found is None or policy not in POLICIES_THAT_REVIVE:
            return
        noted = record.LaunchRecord(
            spec=spec, state="started", boot_id=proc.boot_id(), launch="", container_id=found.id, restart_policy=policy
        )
        record.write(self._home, noted)

    async def _give_policy_back(self, spec: LaunchSpec, held: record.LaunchRecord | None) -> None:
        """Where the script started the same container again, it gets the policy that it had."""
        found = await self.container(spec)
        if held is None or found is None or held.restart_policy is None or found.id != held.container_id:
            return
        if found.restart_policy != held.restart_policy:
            await engine_of(spec).set_restart_policy(found.id, held.restart_policy)


def sources(spec: LaunchSpec) -> list[str]:
    """The files that decide what a script brings up: every word of its command that names a file."""
    words = [shutil.which(spec.argv[0], path=spec.base_env.get("PATH")) or spec.argv[0], *spec.argv[1:]]
    paths = [Path(spec.cwd or ".") / word for word in words]
    return [str(path) for path in paths if path.is_file()]


def _where(running: Running) -> str:
    return f"container {running.container_id[:12]}" if running.container_id else f"pid {running.pid}"
