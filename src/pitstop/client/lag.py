"""How late the tool itself is: a heartbeat in the event loop, and what its delays mean for a time stamp.

A stamp is taken when the loop gets to it. If a heartbeat that was due at `due` ran at `ran`, the loop was busy (or the
process not scheduled) in between, and a stamp taken then may be late by up to its distance from `due`.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterable
from time import monotonic
from types import TracebackType

BEAT_S = 0.005  # 200 beats a second cost about 0.2 % of one core
NOTICED_S = 0.002  # libuv keeps time in whole milliseconds; delays below this are its rounding


class LagWatch:
    """Watches the running loop while it is entered. Delays are kept, times are `time.monotonic`."""

    def __init__(self) -> None:
        self._due: list[float] = []
        self._ran: list[float] = []
        self._next = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> LagWatch:
        self._loop = asyncio.get_running_loop()
        self._schedule()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def late_by(self, stamps: Iterable[float]) -> float:
        """Seconds by which the worst of `stamps` may be late; 0.0 when the loop was on time at all of them."""
        return max((self._late(stamp) for stamp in stamps), default=0.0)

    @property
    def worst_s(self) -> float:
        """The longest delay seen."""
        return max((ran - due for due, ran in zip(self._due, self._ran, strict=True)), default=0.0)

    def _schedule(self) -> None:
        self._next = monotonic() + BEAT_S
        self._timer = self._loop.call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        now = monotonic()
        if now - self._next > NOTICED_S:
            self._due.append(self._next)
            self._ran.append(now)
        self._schedule()

    def _late(self, stamp: float) -> float:
        """Delays do not overlap, so the last one that was due before the stamp is the only one that can hold it.

        Events that piled up are read in the turns of the loop right after the delay; they count as within it for as
        long as the delay was.
        """
        index = bisect_right(self._due, stamp) - 1
        if index < 0:
            return 0.0
        due, ran = self._due[index], self._ran[index]
        if stamp <= ran:
            return stamp - due
        return ran - due if stamp <= ran + (ran - due) else 0.0
