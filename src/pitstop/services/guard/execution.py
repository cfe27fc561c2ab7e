"""The kill and what follows: signals first, the container engine's books next, then proof that memory came back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from pitstop.decisions.guard import MIB, GuardState, Reading, decide
from pitstop.services.guard import asking
from pitstop.services.guard.memory import MemoryReader
from pitstop.services.guard.order import GuardOrder, GuardReport
from pitstop.services.guard.owned import Owned

_LOOK_S = 0.05
_ROW_S = 0.5
_BOOKS_S = 10.0
_PROGRESS_BYTES = 64 * MIB
_LONGEST_S = 60.0  # a driver may take many seconds to give 100 GiB back, but it does so visibly


class Execution:
    """One kill of one engine."""

    def __init__(self, order: GuardOrder, owned: Owned, container: str, reader: MemoryReader) -> None:
        self._order, self._owned, self._container, self._reader = order, owned, container, reader
        self._hit: dict[int, str] = {}
        self._books: asking.Command | None = None
        self.struck_at_s = 0.0

    def strike(self) -> bool:
        """SIGKILL all that is held, or have the container engine do it; False when there was nobody to kill."""
        self._owned.signal_all(signal.SIGKILL)
        self.struck_at_s = time.monotonic()
        self._hit = self._owned.kill()
        if self._container:
            self._books = asking.kill(self._order.binary, self._container)
        if self._hit and not self._owned.denied:
            return True
        if self._books is None:
            return bool(self._hit)
        self._await_books()
        self.struck_at_s = time.monotonic()
        return bool(self._hit) or self._books.exit_code == 0

    @property
    def hit(self) -> list[dict[str, Any]]:
        return [{"pid": pid, "name": name} for pid, name in self._hit.items()]

    def follow_up(self, state: GuardState, report: GuardReport, account: Callable[[Reading], None]) -> None:
        """Wait for memory, escalate once, and say how it ended; bounded by twice `_LONGEST_S` and the books."""
        back, reading = self._recovered(state, account)
        if not back:
            self._hit.update(self._owned.kill_orphans(self._order.mark))
            back, reading = self._recovered(state, account)
        self._await_books()
        report.killed = self.hit
        report.memory_back, report.available_after_bytes = back, reading.available_bytes
        self._owned.refresh()
        report.still_there = [{"pid": pid, "name": name} for pid, name in self._owned.names.items()]
        report.books = self._books.words if self._books is not None else ""

    def _recovered(self, state: GuardState, account: Callable[[Reading], None]) -> tuple[bool, Reading]:
        """Whether all of it is gone and the limits hold again; gives up `recovery_s` after the last progress."""
        calm = GuardState(swap_baseline_bytes=state.swap_baseline_bytes)
        began_s = progress_s = time.monotonic()
        most, row_s = -_PROGRESS_BYTES, 0.0
        while True:
            reading, now_s = self._reader.read(), time.monotonic()
            if (reading.available_bytes or 0) >= most + _PROGRESS_BYTES:
                most, progress_s = reading.available_bytes or 0, now_s
            if now_s >= row_s:
                account(reading)
                row_s = now_s + _ROW_S
            self._owned.refresh()
            known = reading.available_bytes is not None
            if known and not self._owned.up and not decide(calm, reading, self._order.policy, now_s)[1].kill:
                return True, reading
            if now_s >= min(progress_s + self._order.recovery_s, began_s + _LONGEST_S):
                return False, reading
            time.sleep(_LOOK_S)

    def _await_books(self) -> None:
        until_s = time.monotonic() + _BOOKS_S
        while self._books is not None and not self._books.poll() and time.monotonic() < until_s:
            time.sleep(_LOOK_S)

    def close(self) -> None:
        if self._books is not None:
            self._books.close()


def write_evidence(folder: str, report: GuardReport) -> None:
    """Put the report so far into `folder`; a disk that does not take it must not stop anything."""
    path = f"{folder}/guard.json"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - pathlib costs memory here
        report.evidence = path
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, report.to_json().encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        report.evidence = None
        report.warnings.append(f"the evidence could not be written to {folder}: {error.strerror}")
