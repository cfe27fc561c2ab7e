"""`with = "process"`: a child in a session of its own, which outlives pitstop and is found again without it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch import environment, logfile, ports, proc, record, tree
from pitstop.launch.command import printed_version
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.launch.lock import locked
from pitstop.launch.mark import Mark
from pitstop.launch.proc import Process
from pitstop.launch.record import LaunchRecord
from pitstop.launch.taken import port_free, refuse_taken_port
from pitstop.launch.tree import Root

_OWN: dict[tuple[str, str], Root] = {}  # what this process started, for when the disk did not take the record
_POLL_S = 0.05
_AFTER_KILL_S = 30.0  # how long a killed process may take to let go of its memory and its port


class ProcessLauncher:
    """Starts, finds and stops an engine that is an ordinary process. The world is read each time it is asked."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def start(self, spec: LaunchSpec, environ: Mapping[str, str]) -> Running:
        """Start the engine; UsageError when it is up or its port is taken, EngineFailed when it cannot be executed."""
        secrets = environment.secret_values(spec, environ)
        with locked(self._home, spec.engine):
            await asyncio.to_thread(self._refuse_if_taken, spec)
            return self.spawn(spec, secrets)

    async def stop(self, spec: LaunchSpec) -> None:
        """End every process of the engine, gently first; returns when all are gone and the port is free."""
        with locked(self._home, spec.engine):
            await self.end(spec, self._root(spec))
            await port_free(spec)
            record.remove(self._home, spec.engine)

    async def inspect(self, spec: LaunchSpec) -> Running | None:
        """The engine as it runs now, with the fingerprint that its own process carries; None when it is not up."""
        return await asyncio.to_thread(self.look, spec)

    async def recreatable(self, spec: LaunchSpec) -> str:
        """Why this process could not be started again: its program, its folder or a secret is not there."""
        return await self.startable(spec)

    async def startable(self, spec: LaunchSpec) -> str:
        return environment.unset_secrets(spec) or environment.missing_program(spec)

    async def foreign_listener(self, spec: LaunchSpec) -> str:
        """Who else listens on the engine's port."""
        return await asyncio.to_thread(self.foreign, spec, None)

    async def remembered(self, spec: LaunchSpec) -> LaunchSpec:
        """A process has nothing to add to its launch value."""
        return spec

    async def version(self, spec: LaunchSpec) -> str | None:
        """What the engine's own program prints as its version; None when no command was configured, or it failed."""
        return await printed_version(spec)

    async def exit_state(self, spec: LaunchSpec) -> int | None:
        """The exit code of an engine that this process started, or its signal as a negative number; else None."""
        root = self._root(spec)
        return tree.exit_state(root) if root else None

    async def container(self, spec: LaunchSpec) -> None:
        """A process is in none."""
        del spec

    def log_path(self, spec: LaunchSpec) -> Path | None:
        return self._home.logs / f"{spec.engine}.log"

    async def log_tail(self, spec: LaunchSpec, lines: int = 20) -> list[str]:
        return logfile.tail(self.log_path(spec), lines, this_start_only=True)

    def spawn(self, spec: LaunchSpec, secrets: Mapping[str, str]) -> Running:
        """Fork and execute, under the engine's lock, after the caller has looked; EngineFailed when that fails."""
        mark = Mark.new(spec.engine, str(self._home.root.resolve()), spec.fingerprint)
        # Written first: a kill between here and the fork leaves a record without a pid, and the mark finds the rest.
        noted = LaunchRecord(spec=spec, state="starting", boot_id=proc.boot_id(), launch=mark.launch)
        record.write(self._home, noted)
        log = logfile.open_for_engine(
            self._home.logs / f"{spec.engine}.log", spec.engine, spec.fingerprint, datetime.now(UTC)
        )
        try:
            pid = _fork(spec, environment.of_child(spec, secrets, mark), log)
        finally:
            os.close(log)
        process = proc.read(pid)
        if process is None:  # cannot be: an own child stays visible, if only as a zombie, until it is reaped
            raise EngineFailed(f"engine {spec.engine} vanished while it was started.")
        _OWN[self._key(spec)] = Root(process.pid, process.start_ticks)
        record.write(self._home, _started(noted, process))
        return Running(engine=spec.engine, fingerprint=spec.fingerprint, started_at=proc.started_at(process), pid=pid)

    def _refuse_if_taken(self, spec: LaunchSpec) -> None:
        """Look before starting; a port that is taken afterwards is found by `foreign_listener`."""
        mine = self._members(spec)
        if mine:
            first = min(mine.values(), key=lambda process: process.start_ticks)
            raise UsageError(
                f"engine {spec.engine} is already up: pid {first.pid} ({proc.command(first.pid)}).",
                hint=f"Stop it first: pitstop down {spec.engine}.",
            )
        refuse_taken_port(spec)

    def look(self, spec: LaunchSpec) -> Running | None:
        """`inspect`, for callers in a thread."""
        root = self._root(spec)
        if root is not None:
            tree.exit_state(root)
        mine = self._members(spec, root)
        if not mine:
            return None
        chosen = mine.get(root.pid) if root else None
        if chosen is None:  # the first process is gone and others live on: an engine that made itself a daemon
            chosen = min(mine.values(), key=lambda process: (process.start_ticks, process.pid))
        return Running(
            engine=spec.engine,
            fingerprint=self._read_back(spec, chosen, mine),
            started_at=proc.started_at(chosen),
            pid=chosen.pid,
        )

    def _read_back(self, spec: LaunchSpec, chosen: Process, mine: Mapping[int, Process]) -> str:
        """The fingerprint in the mark of a living process; the record's where the environment was overwritten."""
        for pid in (chosen.pid, *sorted(mine)):
            mark = Mark.read(proc.environment(pid))
            if mark is not None and mark.fingerprint:
                return mark.fingerprint
        noted = record.read(self._home, spec.engine)
        return noted.spec.fingerprint if noted is not None else ""

    def foreign(self, spec: LaunchSpec, root: Root | None) -> str:
        """`foreign_listener`, for callers in a thread; `root` where another first process is known."""
        mine = self._members(spec, root)
        others = [one for one in ports.listeners(spec.port, spec.host) if not mine.keys() & set(one.pids)]
        return " and ".join(str(one) for one in others)

    async def end(self, spec: LaunchSpec, root: Root | None) -> None:
        """Ask every process to end, then kill what is left; EngineFailed for what survives even that."""
        mine = self._members(spec, root)
        tree.send(mine.values(), signal.SIGTERM)
        tree.send(mine.values(), signal.SIGCONT)  # a stopped process cannot see that it was asked to end
        if await self._gone(spec, root, spec.stop_timeout_s):
            return
        deadline = _now_s() + _AFTER_KILL_S
        while mine := await asyncio.to_thread(self._members, spec, root):
            if _now_s() > deadline:
                raise EngineFailed(f"engine {spec.engine} cannot be stopped: {_described(mine)} survived SIGKILL.")
            tree.send(mine.values(), signal.SIGKILL)
            await self._gone(spec, root, 1.0)

    async def _gone(self, spec: LaunchSpec, root: Root | None, timeout_s: float) -> bool:
        deadline = _now_s() + timeout_s
        while True:
            if root is not None:
                tree.exit_state(root)  # an own child stays a zombie until it is asked
            if not await asyncio.to_thread(self._members, spec, root):
                return True
            if _now_s() >= deadline:
                return False
            await asyncio.sleep(_POLL_S)

    def _members(self, spec: LaunchSpec, root: Root | None = None) -> dict[int, Process]:
        return tree.living(spec.engine, str(self._home.root.resolve()), root or self._root(spec))

    def _root(self, spec: LaunchSpec) -> Root | None:
        """The latest first process: as recorded, or as this process knows it where the disk did not take the record."""
        noted, own = record.read(self._home, spec.engine), _OWN.get(self._key(spec))
        if noted is None or noted.pid is None or noted.start_ticks is None or noted.boot_id != proc.boot_id():
            return own
        recorded = Root(noted.pid, noted.start_ticks)
        return own if own is not None and own.start_ticks > recorded.start_ticks else recorded

    def _key(self, spec: LaunchSpec) -> tuple[str, str]:
        return spec.engine, str(self._home.root)


def _fork(spec: LaunchSpec, environ: dict[str, str], log: int) -> int:
    try:
        child = _Detached(
            list(spec.argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=spec.cwd or None,
            env=environ,
            start_new_session=True,  # no Ctrl-C of the terminal, no hang-up when it closes
        )
    except (OSError, ValueError) as error:
        reason = environment.missing_program(spec) or str(error)
        raise EngineFailed(
            f"engine {spec.engine} could not be started: {reason}", hint="Correct its `command` or `cwd`."
        ) from error
    return child.pid


class _Detached(subprocess.Popen[bytes]):
    """A child that is meant to outlive this object; its exit state is taken by `tree.exit_state`."""

    def __del__(self, *_args: object, **_kwargs: object) -> None:
        self.returncode = 0


def _started(noted: LaunchRecord, process: Process) -> LaunchRecord:
    return LaunchRecord(
        spec=noted.spec,
        state="started",
        boot_id=noted.boot_id,
        launch=noted.launch,
        pid=process.pid,
        start_ticks=process.start_ticks,
    )


def _described(mine: Mapping[int, Process]) -> str:
    return ", ".join(f"pid {one.pid} ({one.name}, state {one.state})" for one in mine.values())


def _now_s() -> float:
    return asyncio.get_running_loop().time()
