"""A guard that is there as long as it is needed: one that was killed itself is replaced, and that is told.

The kernel's OOM killer, a clean-up script or a tired person may end the lean process. What it guarded would go on
without a guard, and nobody would know.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

from pitstop.core.errors import UsageError
from pitstop.launch.launcher import Running
from pitstop.services.guard.order import GuardOrder, GuardReport, GuardVerdict
from pitstop.services.guard.spawn import Guard, spawn_guard, tripped

_LOG = logging.getLogger(__name__)
_AGAIN_S = 2.0  # between attempts, where no other guard can be started now


@contextlib.asynccontextmanager
async def under_guard(
    order: GuardOrder,
    running: Running | None,
    log: Path,
    heard: Callable[[GuardReport], object] | None = None,
    told: Callable[[str], object] = _LOG.warning,
) -> AsyncIterator[Vigil]:
    """Guard what happens inside; leaving raises GuardTripped when the guard had to kill.

    `heard` is given the report first: `services.plan.learnt` makes a boot of it that the next plan knows. `told` hears
    of guards that were lost meanwhile.
    """
    guard = Vigil(order, log, await spawn_guard(order, log), told)
    try:
        if running is not None:
            await guard.own(running)
        yield guard
    finally:
        report = await guard.stop()
    if heard is not None:
        heard(report)
    if report.tripped:
        raise tripped(report)


class Vigil:
    """Guards like `Guard`, with one guard after the other if need be. `told` hears of each that was lost."""

    def __init__(
        self, order: GuardOrder, log: Path, guard: Guard, told: Callable[[str], object] = _LOG.warning
    ) -> None:
        self._order, self._log, self._guard, self._told = order, log, guard, told
        self._running: Running | None = None
        self._watch = asyncio.create_task(self._keep())

    @property
    def pid(self) -> int:
        """Of the guard that watches now."""
        return self._guard.pid

    async def own(self, running: Running) -> None:
        """Tell it which engine is its own from now on."""
        self._running = running
        await self._guard.own(running)

    async def wait(self) -> GuardReport:
        """The report of the guard that ended with one: it killed, or what it owned is gone."""
        return await asyncio.shield(self._watch)

    async def stop(self) -> GuardReport:
        """End it, or wait for the kill that is under way; returns the report of the last guard."""
        if not self._watch.done():
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
        return await self._guard.stop()

    async def _keep(self) -> GuardReport:
        while (report := await self._guard.wait()).verdict == GuardVerdict.INTERRUPTED:
            self._told(f"{report.engine} was without its memory guard: {report.reason}; another one is started")
            self._guard = await self._another()
            if self._running is not None:
                await self._guard.own(self._running)
        return report

    async def _another(self) -> Guard:
        """One that kills what is over a limit by now, instead of refusing to begin."""
        order, said = replace(self._order, kill_when_low=True), ""
        while True:
            try:
                return await spawn_guard(order, self._log)
            except (UsageError, OSError) as error:
                if str(error) != said:
                    said = str(error)
                    self._told(f"no other memory guard can be started yet: {said}")
            await asyncio.sleep(_AGAIN_S)
