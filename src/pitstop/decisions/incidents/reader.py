"""From one log to its events. Long logs are passed over with a prefilter; only lines near a hit are taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pitstop.decisions.incidents import quoting
from pitstop.decisions.incidents.events import Event
from pitstop.decisions.incidents.lines import LogLine, Until, read_line
from pitstop.decisions.incidents.prefilter import Prefilter, found, line_end, line_start
from pitstop.decisions.incidents.region import Region
from pitstop.decisions.incidents.signatures import AROUND, Catalogue, Role, Signature
from pitstop.decisions.incidents.text import LINES_BYTES, Text, blocks, windows
from pitstop.decisions.incidents.tracebacks import Raised, Traceback, begins, looks_like_exception

BLOCK_BYTES = 1 << 20  # about what stays in a core's cache between one needle and the next
_BEHIND_BYTES = 1 << 20  # how far before a failure a stop, or after it an end, belongs to it
_NO_FAILURE = ("DEBUG", "INFO", "WARNING")  # levels at which a program itself calls its traceback no failure
_MAX_EVENTS = 5000  # of one log; a log with more of them repeats itself
_MODULES = re.compile(r"(?:[a-zA-Z_]\w*\.)+(?=[A-Z]\w*(?:Error|Exception))")  # in front of an exception's class
_WHAT = re.compile(r"what\(\): +(?:\[PG [^\]]*\] ?)?")


def read_events(text: Text, catalogue: Catalogue, until: Until | None = None) -> list[Event]:
    """Every event of a log in its order. Never raises on any content."""
    reader = _Reader(text, catalogue, until)
    reader.failures()
    reader.surroundings()
    return sorted(reader.events, key=lambda event: event.number)


@dataclass
class _Reader:
    text: Text
    catalogue: Catalogue
    until: Until | None
    events: list[Event] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)  # offsets of lines that made an event

    def failures(self) -> None:
        """Pass over the whole log; take apart what the prefilter finds."""
        prefilter, consumed = Prefilter(self.catalogue.anchors()), 0
        for start, block in blocks(self.text, BLOCK_BYTES):
            for hit in prefilter.hits(block, max(0, consumed - start)):
                if start + hit < consumed or len(self.events) >= _MAX_EVENTS:
                    continue
                begin, end = line_start(block, hit), line_end(block, hit)
                if self._is_nothing(block[begin:end]):
                    consumed = start + end
                else:
                    consumed = Region(self, start + begin, consumed).walk()

    def _is_nothing(self, raw: bytes) -> bool:
        """Whether a line that the prefilter found is an everyday one after all: most are, and cost only this."""
        if any(word in raw for word in quoting.REQUEST_LINES):
            return True
        line = read_line(raw)
        if begins(line.text):
            return False
        if quoting.quotes_a_user(line.text):
            return True
        message = _said(line)
        return self.catalogue.match(quoting.without_quotations(message)) is None and not _lone_exception(line)

    def surroundings(self) -> None:
        """Starts, stops, ends and work around what was found."""
        if self.events:
            last = max(event.number for event in self.events) + _BEHIND_BYTES
            self._look(0, last, self.catalogue.anchors_around(Role.BOOT, Role.READY))
        doubtful = any(event.role in (Role.WAIT, Role.UNKNOWN) for event in self.events)
        near = (Role.STOP, Role.END, *((Role.WORK,) if doubtful else ()))
        for start, end in windows([*(event.number for event in self.events), self.text.size], _BEHIND_BYTES):
            self._look(start, end, self.catalogue.anchors_around(*near))

    def _look(self, start: int, end: int, anchors: list[str]) -> None:
        for at, block in blocks(self.text, BLOCK_BYTES, start, end):
            for hit in found(block, anchors):
                begin = line_start(block, hit)
                self._line(read_line(block[begin : line_end(block, hit)], self.until), at + begin, AROUND)

    def line(self, line: LogLine, at: int) -> None:
        """Make an event of a single line, if it is one."""
        self._line(line, at, None)

    def _line(self, line: LogLine, at: int, roles: tuple[Role, ...] | None) -> None:
        if at in self._seen or (quoting.quotes_a_user(line.text) and not self._is_work(line.text)):
            return
        message = _said(line)
        signature = self.catalogue.match(quoting.without_quotations(message))
        if signature is not None and (roles is None or signature.role in roles):
            self._add(signature.role, signature, line, at, message)
        elif signature is None and roles is None and _lone_exception(line):
            self._add(Role.UNKNOWN, None, line, at, message)

    def traceback(self, done: Traceback, line: LogLine, header: str) -> None:
        """Make an event of a traceback: of the first exception of its chain that says something."""
        chosen, signature = self._first_cause(done.raised)
        of_request = self.catalogue.begins_request(header)
        if signature is None and (of_request or not chosen.spoken or line.level in _NO_FAILURE):
            return
        role = signature.role if signature else Role.UNKNOWN
        if role is Role.HARMLESS:
            return
        self._add(role, signature, line, chosen.number, chosen.spoken, chosen.trace, _evidence(done, chosen))

    def _first_cause(self, raised: list[Raised]) -> tuple[Raised, Signature | None]:
        matched = [(one, self._match(one)) for one in raised]
        for wanted in ((Role.CAUSE,), (Role.VICTIM,), (Role.ECHO,), (Role.HARMLESS,)):
            for one, signature in matched:
                if signature is not None and signature.role in wanted:
                    return one, signature
        told = [one for one, _ in matched if one.message]
        return (told or raised)[0], None

    def _match(self, one: Raised) -> Signature | None:
        return self.catalogue.match(quoting.without_quotations(one.spoken), one.trace)

    def _is_work(self, text: str) -> bool:
        signature = self.catalogue.match(text.strip())
        return signature is not None and signature.role is Role.WORK

    def _add(
        self, role: Role, signature: Signature | None, line: LogLine, at: int, message: str,
        trace: str = "", lines: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        if role in (Role.REQUEST, Role.HARMLESS):
            return
        self._seen.add(at)
        timed = line if line.epoch_s is not None else self._time_before(at)
        self.events.append(
            Event(
                role, message[:2000], self._source(line), at, lines or (line.raw.strip()[:1000],), signature,
                line.process, line.rank, timed.at, timed.epoch_s, trace, bool(lines),
            )
        )  # fmt: skip

    def _source(self, line: LogLine) -> str:
        return f"{self.text.name}: {line.service}" if line.service else self.text.name

    def _time_before(self, at: int) -> LogLine:
        """The nearest line before that told a time: raw tracebacks tell none."""
        behind = self.text.read(at - 16 * 1024, at).split(b"\n")
        for raw in reversed(behind[1:] if at > 16 * 1024 else behind):
            line = read_line(raw, self.until)
            if line.epoch_s is not None:
                return line
        return LogLine("")


def last_errors(text: Text, until: Until | None = None) -> tuple[str, ...]:
    """The last lines of a log that call themselves errors: all there is to say of an end without a traceback."""
    found: list[str] = []
    for raw in text.read(text.size - LINES_BYTES, text.size).split(b"\n"):
        line = read_line(raw, until)
        is_error = line.level in ("ERROR", "CRITICAL") or line.text.lower().startswith(
            ("error:", "fatal:", "fatal error")
        )
        if is_error and line.text.strip() and not quoting.quotes_a_user(line.text):
            found.append(line.raw.strip()[:1000])
    return tuple(found[-3:])


def _said(line: LogLine) -> str:
    """The message as signatures know it: without modules before a class, and without what C++ puts before a reason."""
    return _WHAT.sub("", _MODULES.sub("", line.text.strip()))


def _lone_exception(line: LogLine) -> bool:
    """An exception's line whose traceback is not there, as in an excerpt."""
    if line.level not in ("", "ERROR", "CRITICAL") or line.text[:1] in (" ", "\t"):
        return False
    head = line.text.partition(":")[0]
    return (
        head.endswith(("Error", "Exception")) and head not in ("Error", "Exception") and looks_like_exception(line.text)
    )


def _evidence(done: Traceback, chosen: Raised) -> tuple[str, ...]:
    """The lines that spoke: the header, where it was raised, and every exception of the chain."""
    frames = chosen.trace.splitlines()
    where = f"  … in {' > '.join(frames[-4:])}"[:400] if frames else ""
    spoken = [one.raw.strip()[:1000] for one in done.raised]
    return tuple(line for line in (done.header[:400], where, *spoken) if line)
