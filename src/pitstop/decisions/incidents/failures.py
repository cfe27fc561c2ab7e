"""From events to failures: which events belong together, what happened first, and what only followed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pitstop.decisions.incidents.events import Event
from pitstop.decisions.incidents.signatures import Role, Signature

# Between two causes in one boot. Printing one traceback everywhere takes seconds; reloading a model takes minutes.
SAME_FAILURE_S = 300.0
# NCCL's watchdog speaks ten minutes after a peer was lost, vLLM's RPC after five.
FOLLOWS_S = 3600.0
_CLEARLY_EARLIER_S = 60.0  # an unknown exception this long before a known crash was survived
HANG_WAITS = 3  # lines of one worker, 60 s apart, without a token between them
_RUNNING = re.compile(r"Running: (\d+) req|#running-req: (\d+)")
_RATE = re.compile(r"throughput(?: \(token/s\))?: ([\d.]+)")


@dataclass
class Failure:
    """One failure: the event that was first, and all that followed from it."""

    events: list[Event] = field(default_factory=list)
    ready_before: bool = False
    ended: bool = False  # the server's process finished
    stopped_after: bool = False  # somebody asked it to end once it had failed
    sources: list[str] = field(default_factory=list)

    @property
    def root(self) -> Event:
        """What happened first: a cause before a victim, a victim before an echo, the earliest of its kind."""
        primary = [event for event in self.events if event.is_primary]
        if not primary:
            return min(self.events, key=lambda event: (_RANK[event.role], event.epoch_s or 0.0, event.number))
        first = min(primary, key=_when)
        known = [event for event in primary if event.role is Role.CAUSE]
        if first.role is Role.UNKNOWN and known:
            best = min(known, key=_when)
            return best if _outranks(best, first) else first
        return first

    @property
    def last(self) -> Event:
        return max(self.events, key=_when)

    @property
    def echoes(self) -> int:
        return sum(event.role is Role.ECHO for event in self.events)


_RANK = {Role.CAUSE: 0, Role.UNKNOWN: 0, Role.WAIT: 1, Role.VICTIM: 2, Role.ECHO: 3}


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
            return _apart(failure.last, event, FOLLOWS_S)
        if failure.ended:
            return True
        primary = [one for one in failure.events if one.is_primary]
        if any(_reborn(one, event) for one in failure.events):
            return True
        if not primary:
            return _apart(failure.last, event, FOLLOWS_S)
        if not self.timed and not event.process and not self.booted:
            return self._naked_repetition(event, primary)
        return _apart(primary[-1], event, SAME_FAILURE_S)

    @staticmethod
    def _naked_repetition(event: Event, primary: list[Event]) -> bool:
        """Without times, processes and starts, each whole traceback stands for itself, unless a process repeats it."""
        repeated = event.lines[0].startswith("Process ") and event.message == primary[-1].message
        return event.from_traceback and primary[-1].from_traceback and not repeated


def merge_sources(stories: Iterable[Story]) -> list[Failure]:
    """One failure seen by several ranks is one: victims and echoes go to the cause that another log tells."""
    told = list(stories)
    failures = [failure for story in told for failure in story.failures]
    ranks = {story.source: story.ranks for story in told}
    causes = [failure for failure in failures if failure.root.is_primary or failure.root.role is Role.WAIT]
    merged: list[Failure] = []
    for failure in failures:
        home = next((one for one in (*merged, *causes) if _one_failure(one, failure, ranks)), None)
        if home is None:
            merged.append(failure)
        elif home is not failure:
            home.events += failure.events
            home.sources += [source for source in failure.sources if source not in home.sources]
            home.ended = home.ended or failure.ended
    return merged


def _one_failure(home: Failure, other: Failure, ranks: dict[str, frozenset[int]]) -> bool:
    if home is other or set(home.sources) & set(other.sources):
        return False
    if not other.root.is_primary and other.root.role is not Role.WAIT:
        return not _apart(home.root, other.root, FOLLOWS_S)
    mine, theirs = (frozenset().union(*(ranks[source] for source in one.sources)) for one in (home, other))
    return bool(mine and theirs and not mine & theirs) and not _apart(home.root, other.root, SAME_FAILURE_S)


def signature_of(failure: Failure) -> Signature | None:
    return failure.root.signature


def _outranks(known: Event, unknown: Event) -> bool:
    """Whether a known crash counts although something unknown came earlier: then that was survived, or is a shadow."""
    severity = known.signature.severity if known.signature else ""
    if severity == "hang" or known.epoch_s is None or unknown.epoch_s is None:
        return False
    return known.epoch_s - unknown.epoch_s > _CLEARLY_EARLIER_S


def _reborn(before: Event, now: Event) -> bool:
    """The same process by name under another number: it was started again in between."""
    old, new = (re.fullmatch(r"(.*?) ?pid=(\d+)(.*)", event.process) for event in (before, now))
    return bool(old and new and old[1] == new[1] and old[2] != new[2])


def _apart(before: Event, now: Event, seconds: float) -> bool:
    """Whether two events are known to be further apart."""
    if before.epoch_s is None or now.epoch_s is None:
        return False
    return abs(now.epoch_s - before.epoch_s) > seconds


def _when(event: Event) -> tuple[float, int]:
    return (event.epoch_s if event.epoch_s is not None else 0.0, event.number)
