"""`with = "script"`: the user's own launcher, called with knobs in its environment.

What it brings up is found by the container or the pidfile that it names, or by the mark that its processes carry.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch import command, environment, logfile, proc, record, scripts_engine, taken
from pitstop.launch.command import CommandFailed
from pitstop.launch.container import POLICIES_THAT_REVIVE, Container
from pitstop.launch.containers import container_log, end, engine_of, hold, version_inside
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.launch.lock import locked
from pitstop.launch.process import ProcessLauncher
from pitstop.launch.scripts_engine import ScriptsEngine
from pitstop.launch.strays import Before, Bystanders, end_strays

_APPEARS_WITHIN_S = 180.0  # a script may create a container from a large image first
_AFTER_ITS_END_S = 15.0  # once the script has ended, what it started should be there
_POLL_S = 0.1
_MISSES = 5  # a program in the middle of becoming another one is out of sight for a moment
_SAID_LINES = 20


class ScriptLauncher:
    """Calls a start and a stop script; believes what it sees afterwards, not their exit codes alone."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._process = ProcessLauncher(home)
        self._engine = ScriptsEngine(home, self._process)

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
            for root in self._engine.roots(spec):
                await self._process.end(spec, root)
            await self._process.end(spec, None)
            await taken.port_free(spec)
            self._remember_policy(spec, found, policy)
            if await self.inspect(spec) is not None:
                raise EngineFailed(f"engine {spec.engine} is still up after its stop script.", hint=failed)

    async def inspect(self, spec: LaunchSpec) -> Running | None:
        """What runs under the container's name, the pidfile's number, or the mark; with what it was seen to be."""
        return await self._engine.running(spec)

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
        roots = self._engine.roots(spec)
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
        return await self._engine.container(spec)

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
            is_settled = (
                spec.name or "pidfile" in spec.options or state == 0 or loop.time() > began + scripts_engine.SETTLED_S
            )
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


def _where(running: Running) -> str:
    return f"container {running.container_id[:12]}" if running.container_id else f"pid {running.pid}"
