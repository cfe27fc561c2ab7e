"""Accounts go to a thread of their own: log line, metrics, ledger. The request path only appends to a queue.

A ledger that cannot be written costs rows, never requests; how many is counted and told.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence

from pitstop.core.errors import PitstopError
from pitstop.gateway.account import Account

log = logging.getLogger("pitstop.gateway")
Sink = Callable[[Sequence[Account]], None]

_MOST_WAITING = 100_000  # accounts; about 50 MiB
_BATCH_EVERY_S = 0.5
_COMPLAIN_EVERY_S = 60.0


class Recorder:
    """Takes accounts from the event loop and hands them to sinks in batches."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks
        self._waiting: queue.SimpleQueue[Account] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="accounts", daemon=True)
        self.dropped = 0
        self._complained_s = float("-inf")

    def start(self) -> None:
        self._thread.start()

    def put(self, account: Account) -> None:
        """Never waits; beyond what fits in memory an account is dropped and counted."""
        if self._waiting.qsize() >= _MOST_WAITING:
            self.dropped += 1
        else:
            self._waiting.put(account)

    def stop(self, timeout_s: float = 5.0) -> None:
        """Write what is waiting, and end."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stop.wait(_BATCH_EVERY_S):
            self._hand_over()
        self._hand_over()
        for sink in self._sinks:  # here, because a ledger's connection belongs to the thread that opened it
            if close := getattr(sink, "close", None):
                close()

    def _hand_over(self) -> None:
        batch: list[Account] = []
        while not self._waiting.empty():
            batch.append(self._waiting.get_nowait())
        for sink in self._sinks if batch else ():
            try:
                sink(batch)
            except PitstopError as error:
                self._lost(len(batch), error.message)
            except Exception:  # a thread that dies would lose every later account in silence
                log.exception("accounting failed")
                self.dropped += len(batch)

    def _lost(self, count: int, why: str) -> None:
        self.dropped += count
        if time.monotonic() - self._complained_s > _COMPLAIN_EVERY_S:
            self._complained_s = time.monotonic()
            log.error("accounting: %d request(s) not in the ledger, %d in all: %s", count, self.dropped, why)


def write_log(batch: Sequence[Account]) -> None:
    """One line per request."""
    if log.isEnabledFor(logging.INFO):
        for account in batch:
            log.info("%s", account.line())
