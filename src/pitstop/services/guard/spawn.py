"""Starts a guard beside an engine, for `up` and `trial`: watching before the engine exists, told later what to own."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import replace
from pathlib import Path

import pitstop
from pitstop.core.errors import GuardTripped, UsageError
from pitstop.launch.launcher import Running
from pitstop.services.guard.order import GuardOrder, GuardReport, GuardVerdict

# The guard must not load the packages of this process, so it gets an interpreter without site-packages.
_BOOT = """import sys
sys.path.insert(0, sys.argv[1])
from pitstop.cli.guard_process import main
sys.exit(main(sys.argv[2]))"""
_START_S = 30.0
_END_S = 150.0  # a kill in progress may take twice its recovery time, the container engine's answer, and the telling


def guard_argv(order: GuardOrder) -> list[str]:
    """The command line of the lean process; holds no secret."""
    source = Path(pitstop.__file__).resolve().parent.parent
    return [sys.executable, "-I", "-S", "-c", _BOOT, str(source), order.to_json()]


class Guard:
    """A guard that runs. It outlives this process as long as its engine is up."""

    def __init__(self, process: Process, engine: str) -> None:
        self._process, self._engine = process, engine
        self._report = asyncio.create_task(self._read_report())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._report.done()

    async def own(self, running: Running) -> None:
        """Tell it which engine is its own from now on."""
        if running.container_id:
            await self._tell(f"container {running.container_id}")
        elif running.pid is not None:
            await self._tell(f"pid {running.pid}")

    async def wait(self) -> GuardReport:
        """Its report, as soon as it has ended by itself: `tripped`, or `gone`."""
        return await asyncio.shield(self._report)

    async def stop(self) -> GuardReport:
        """End it, or wait for the kill that is under way; returns its report."""
        await self._tell("stop")
        try:
            return await asyncio.wait_for(asyncio.shield(self._report), _END_S)
        except TimeoutError:
            self._process.kill()
            return await self._report

    async def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        # It has ended, and its report says why. uvloop calls a pipe that it has closed meanwhile a RuntimeError.
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._process.stdin.write(f"{line}\n".encode())
            await self._process.stdin.drain()

    async def _read_report(self) -> GuardReport:
        assert self._process.stdout is not None
        text = (await self._process.stdout.read()).decode("utf-8", "replace")
        code = await self._process.wait()
        try:
            return GuardReport.from_json(text)
        except (ValueError, TypeError):
            reason = f"the guard itself ended without a report (exit {code})"
            return GuardReport(engine=self._engine, verdict=GuardVerdict.INTERRUPTED, reason=reason)


async def spawn_guard(order: GuardOrder, log: Path) -> Guard:
    """Start a guard and return when it watches; its words go to `log`. UsageError when it refuses, with its reason."""
    with log.open("ab") as words:
        process = await asyncio.create_subprocess_exec(
            *guard_argv(replace(order, controlled=True)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=words,
            start_new_session=True,  # a Ctrl-C at the terminal is for the parent, which still needs its guard
            limit=2**22,
        )
    assert process.stdout is not None
    try:
        first = await asyncio.wait_for(process.stdout.readline(), _START_S)
    except TimeoutError:
        process.kill()
        first = b""
    except BaseException:
        process.kill()  # whoever waited for it does not any more, and would never tell it to end
        raise
    if first.strip() == b"watching":
        return Guard(process, order.engine)
    rest = first + await process.stdout.read()
    await process.wait()
    raise _refusal(order, rest.decode("utf-8", "replace"), log)


def tripped(report: GuardReport) -> GuardTripped:
    """The error for a report of a kill."""
    back = "memory came back" if report.memory_back else "MEMORY HAS NOT COME BACK"
    return GuardTripped(
        f"The memory guard killed {report.engine}: {report.reason}; {back}.",
        hint=f"The readings before the kill: {report.evidence or report.csv}. Give it less memory, then start it anew.",
    )


def _refusal(order: GuardOrder, text: str, log: Path) -> UsageError:
    try:
        reason = GuardReport.from_json(text).reason
    except (ValueError, TypeError):
        reason = f"it did not start; see {log}"
    return UsageError(
        f"The memory guard for {order.engine} refuses: {reason}.",
        hint="Free memory (`pitstop status` shows who holds it), or lower min_available.",
    )
