"""Signals during a trial: the first one ends what may be ended and leads to the restore; the rest are only noted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterator

from pitstop.core.stopping import heeded
from pitstop.decisions.trial import How, Outcome


class Interrupts:
    """Why the trial should end early, if it should; kept for as long as the trial runs."""

    def __init__(self) -> None:
        self.reason = ""
        self._running: asyncio.Task[Outcome] | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[Interrupts]:
        """Take SIGINT, SIGTERM and SIGHUP; from the restore on they cannot stop anything any more.

        They stay taken until the loop ends: the lease has still to be given back.
        """
        loop = asyncio.get_running_loop()
        for number in heeded():
            loop.add_signal_handler(number, self.interrupt, number.name)
        yield self

    def interrupt(self, reason: str) -> None:
        """End the running interruptible action, now or as soon as one begins."""
        self.reason = self.reason or reason
        if self._running is not None:
            self._running.cancel()

    async def interruptible(self, work: Awaitable[Outcome]) -> Outcome:
        """The outcome of `work`, or INTERRUPTED; work that was not begun yet is not begun."""
        task = asyncio.ensure_future(work)
        if self.reason:
            task.cancel()
        self._running = task
        try:
            return await task
        except asyncio.CancelledError:
            if not self.reason:
                raise
            return Outcome(How.INTERRUPTED, self.reason)
        finally:
            self._running = None
