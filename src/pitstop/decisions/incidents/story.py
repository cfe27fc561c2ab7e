"""One log as a story: boots, stops, ends, and what failed in between."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pitstop.decisions.incidents.events import Event
from pitstop.decisions.incidents.failures import FOLLOWS_S, SAME_FAILURE_S, Failure, apart
from pitstop.decisions.incidents.signatures import Role

HANG_WAITS = 3  # lines of one worker, 60 s apart, without a token between them
_SAME_PRINT_S = 30.0  # within which two processes print one exception; no model is loaded in that time
_RUNNING = re.compile(r"Running: (\d+) req|#running-req: (\d+)")
_RATE = re.compile(r"throughput(?: \(token/s\))?: ([\d.]+)")


@dataclass(frozen=True)
class Story:
    """One log: its failures, and how its last boot ended as far as the log tells."""

    source: str
    failures: tuple[Failure, ...]
    ready: bool  # the last boot got ready
    stopped: bool  # the last boot was asked to end before anything failed
    ended: bool
    open: bool = False  # its last failure is that of its last boot
    teardown: tuple[Event, ...] = ()  # errors after a stop that was asked for
    waits: tuple[Event, ...] = ()  # waiting lines that are no hang
    doubtful: tuple[Event, ...] = ()  # waiting lines of which nothing says whether requests ran
    survived: tuple[Event, ...] = ()  # unknown exceptions after which the engine went on
    ranks: frozenset[int] = frozenset()
    errors: tuple[str, ...] = ()  # the log's last error lines, in case nothing else explains an end


def tell(source: str, events: Iterable[Event], errors: tuple[str, ...] = ()) -> list[Story]:
    """The story of one log, from its events in order; of a compose log, one of each service."""
    tellers: dict[str, _Teller] = {}
    for event in events:
        tellers.setdefault(event.source, _Teller(event.source)).take(event)
    return [one.story(errors) for one in (tellers or {source: _Teller(source)}).values()]


@dataclass
class _Teller:
    source: str
    failures: list[Failure] = field(default_factory=list)
    open: Failure | None = None
    ready: bool = False
    stopped: bool = False
    ended: bool = False
    running: bool | None = None  # whether requests run; None: nothing told
    booted: bool = False  # anything told of a start
    timed: bool = False
    teardown: list[Event] = field(default_factory=list)
    benign: list[Event] = field(default_factory=list)
    survived: list[Event] = field(default_factory=list)
    waits: dict[str, list[Event]] = field(default_factory=dict)  # of each process, since the last token
    ranks: set[int] = field(default_factory=set)

    def take(self, event: Event) -> None:
        if event.rank is not None:
            self.ranks.add(event.rank)
        self.timed = self.timed or event.epoch_s is not None
        match event.role:
            case Role.BOOT | Role.READY:
                self._boot(event)
            case Role.STOP:
                self._stop()
            case Role.END:
                self._end()
            case Role.WORK:
                self._work(event)
            case Role.WAIT:
                self._wait(event)
            case _:
                self._failed(event)

    def story(self, errors: tuple[str, ...] = ()) -> Story:
        left = [event for waiting in self.waits.values() for event in waiting]
        doubtful = tuple(left) if len(left) >= HANG_WAITS and self.running is None else ()
        benign = (*self.benign, *(() if doubtful else left))
        return Story(
            self.source,
            tuple(self.failures),
            self.ready,
            self.stopped,
            self.ended,
            self.open is not None,
            tuple(self.teardown),
            benign,
            doubtful,
            tuple(self.survived),
            frozenset(self.ranks),
            errors,
        )  # fmt: skip

    def _boot(self, event: Event) -> None:
        """A start closes what came before it, unless it is one more line of the same start."""
        starting_still = not self.ready and self.open is None and not self.stopped and not self.ended
        if event.role is Role.BOOT and not starting_still:
            self._close()
            self.ready = self.stopped = self.ended = False
        if event.role is Role.READY:
            if not self.ready:
                self._live_on()  # something went wrong while it started, and it started all the same
            if self.open is not None or self.ended:
                self._close()
                self.stopped = self.ended = False
            self.ready = True
        self.booted = True

    def _live_on(self) -> None:
        """The engine works after an exception that nobody knows: that was no failure of the engine."""
        if self.open is None or self.open.ended or any(one.role is not Role.UNKNOWN for one in self.open.events):
            return
        self.survived += self.open.events
        self.failures.remove(self.open)
        self.open = None

    def _close(self) -> None:
        self.open, self.running = None, None
        self._forget_waits()

    def _stop(self) -> None:
        if self.open is None:
            self.stopped = True
        else:
            self.open.stopped_after = True

    def _end(self) -> None:
        self.ended = True
        if self.open is not None:
            self.open.ended = True

    def _work(self, event: Event) -> None:
        if match := _RUNNING.search(event.message):
            self.running = int(match[1] or match[2]) > 0
        elif event.message.startswith(("Received request", "Added request")):
            self.running = True
        works = any(float(rate) > 0 for rate in _RATE.findall(event.message))
        if works or self.running is False:
            self._forget_waits()
        if works:
            self._live_on()

    def _wait(self, event: Event) -> None:
        """Waiting is normal while a model is loaded and compiled, and when nothing is asked for."""
        serving = self.ready or (not self.booted and self.running is True)
        if self.stopped or not serving or self.running is False:
            self.benign.append(event)
            return
        if self.open is not None:
            self.open.events.append(event)
            return
        waiting = self.waits.setdefault(event.process, [])
        waiting.append(event)
        if len(waiting) >= HANG_WAITS and self.running is True:
            for one in waiting:
                self._join(one)
            self.waits[event.process] = []

    def _forget_waits(self) -> None:
        self.benign += [event for waiting in self.waits.values() for event in waiting]
        self.waits = {}

    def _failed(self, event: Event) -> None:
        if self.stopped:
            self.teardown.append(event)
            return
        if self.open is not None and self._is_another(event, self.open):
            self._close()
            self.ended = False
        self._join(event)

    def _join(self, event: Event) -> None:
        if self.open is None:
            self.open = Failure(ready_before=self.ready, sources=[self.source])
            self.failures.append(self.open)
        self.open.events.append(event)

    def _is_another(self, event: Event, failure: Failure) -> bool:
        """Whether this event begins a new failure instead of following from the open one."""
        if not event.is_primary:
            return apart(failure.last, event, FOLLOWS_S)
        primary = [one for one in failure.events if one.is_primary]
        if failure.ended:
            return not any(_same_print(one, event) for one in primary)
        if any(_reborn(one, event) for one in failure.events):
            return True
        if not primary:
            return apart(failure.last, event, FOLLOWS_S)
        if not self.timed and not event.process and not self.booted:
            return self._naked_repetition(event, primary)
        return apart(primary[-1], event, SAME_FAILURE_S)

    @staticmethod
    def _naked_repetition(event: Event, primary: list[Event]) -> bool:
        """Without times, processes and starts, each whole traceback stands for itself, unless a process repeats it."""
        repeated = event.lines[0].startswith("Process ") and event.message == primary[-1].message
        return event.from_traceback and primary[-1].from_traceback and not repeated


def _same_print(before: Event, now: Event) -> bool:
    """One exception, printed by another process after the server had already gone."""
    timed = before.epoch_s is not None and now.epoch_s is not None
    return timed and before.message == now.message and not apart(before, now, _SAME_PRINT_S)


def _reborn(before: Event, now: Event) -> bool:
    """The same process by name under another number: it was started again in between."""
    old, new = (re.fullmatch(r"(.*?) ?pid=(\d+)(.*)", event.process) for event in (before, now))
    return bool(old and new and old[1] == new[1] and old[2] != new[2])
