"""What a guard remembers of its readings: the CSV, the ring before a kill, the extremes, and how long it was blind."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict
from typing import Any

from pitstop.decisions.guard import GuardState, Reading
from pitstop.services.guard.order import GuardReport
from pitstop.services.guard.rows import RowWriter, row

_RING = 120  # two minutes of one reading a second
_BLIND_S = 10.0


class Account:
    """Everything that is written because of a reading; nothing here can delay or fail the next one."""

    def __init__(self, csv: str, report: GuardReport, say: Any) -> None:
        self._report, self._say = report, say
        self._rows = RowWriter(csv)
        self._ring: deque[tuple[str, Reading]] = deque(maxlen=_RING)
        self._last_s: float | None = None
        self._last_known_s = time.monotonic()
        self._blind_said = False

    def take(self, reading: Reading, state: GuardState, now_s: float, owned: int, event: str) -> None:
        at = stamp()
        self._ring.append((at, reading))
        self._rows.write(row(at, reading, state, owned, event))
        self._report.readings += 1
        self._extremes(at, reading, state)
        self._notice_blindness(reading.available_bytes is not None, now_s)
        self._last_s = now_s

    def since_previous_ms(self, now_s: float) -> float | None:
        """How old the reading before this one is: the crossing happened within it."""
        return None if self._last_s is None else (now_s - self._last_s) * 1000

    def ring(self) -> list[dict[str, Any]]:
        """The last readings, oldest first."""
        return [{"at": at, **asdict(reading)} for at, reading in self._ring]

    def warn(self, text: str) -> None:
        self._report.warnings.append(text)
        self._say(f"warning: {text}")

    def close(self) -> None:
        self._rows.close()
        self._report.rows_lost = self._rows.lost
        if self._rows.lost:
            why = self._rows.last_error or "the disk is too slow"
            self.warn(f"{self._rows.lost} rows of {self._report.csv} were lost: {why}")

    def _extremes(self, at: str, reading: Reading, state: GuardState) -> None:
        report, available, growth = self._report, reading.available_bytes, state.swap_growth_bytes(reading)
        lowest, highest = report.lowest_available_bytes, report.highest_swap_growth_bytes
        if available is not None:
            report.last_available_bytes = available
            report.first_available_bytes = available if lowest is None else report.first_available_bytes
        if available is not None and (lowest is None or available < lowest):
            report.lowest_available_bytes, report.lowest_at = available, at
        if growth is not None and (highest is None or growth > highest):
            report.highest_swap_growth_bytes = growth

    def _notice_blindness(self, known: bool, now_s: float) -> None:
        if known:
            self._last_known_s, self._blind_said = now_s, False
        elif now_s - self._last_known_s > _BLIND_S and not self._blind_said:
            self._blind_said = True
            self.warn(f"MemAvailable could not be read for {_BLIND_S:.0f} s: nothing is guarded")


def stamp() -> str:
    """Now, as ISO 8601 in UTC with milliseconds."""
    seconds, fraction = divmod(time.time(), 1.0)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(fraction * 1000):03d}Z"
