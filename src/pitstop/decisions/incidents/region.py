"""Lines around a hit, taken apart one by one, with the tracebacks of every process put together."""

from __future__ import annotations

from typing import Protocol

from pitstop.decisions.incidents import quoting
from pitstop.decisions.incidents.lines import LogLine, Until, read_line
from pitstop.decisions.incidents.prefilter import line_start
from pitstop.decisions.incidents.text import LINES_BYTES, Text, lines_from
from pitstop.decisions.incidents.tracebacks import Traceback, begins

_BEFORE_LINES = 3  # lines before a hit that are looked at: the header of a traceback
_LINGER_LINES = 40  # lines after one, of all processes: what an abort says, what an exception chains
_REGION_LINES = 5000  # a traceback that was torn off must not be waited for through a whole log


class Listener(Protocol):
    """Who hears of what a region holds."""

    text: Text
    until: Until | None

    def line(self, line: LogLine, at: int) -> None:
        """A line that belongs to no traceback, with its offset."""

    def traceback(self, done: Traceback, line: LogLine, header: str) -> None:
        """A traceback with the line that began it, and what stood above it."""


class Region:
    """Lines around a hit, taken apart one by one until nothing is open any more."""

    def __init__(self, listener: Listener, hit: int, not_before: int) -> None:
        self._listener, self._hit = listener, hit
        self._start = self._some_lines_before(hit, not_before)
        self._open: dict[tuple[str, str], tuple[Traceback, LogLine]] = {}
        self._headers: dict[tuple[str, str], str] = {}
        self._header = ""  # the last line of any process
        self._latest: tuple[str, str] | None = None
        self._tagged: set[tuple[str, str]] = set()  # tracebacks whose every line has a tag
        self._bare: set[tuple[str, str]] = set()  # tracebacks whose frames have none

    def walk(self) -> int:
        """Work through the region; returns the offset behind it."""
        quoted = self._inside_a_quotation()
        linger, end = _LINGER_LINES, self._start
        for number, (at, raw) in enumerate(lines_from(self._listener.text, self._start)):
            line = read_line(raw, self._listener.until)
            quoted = self._still_quoted(line, quoted)
            if not quoted:
                self._take(line, at)
            end = at + len(raw)
            unfinished = at < self._hit or any(not one.complete for one, _ in self._open.values())
            linger = _LINGER_LINES if unfinished else linger - 1
            if linger < 0 or number > _REGION_LINES:
                break
        for key in list(self._open):
            self._close(key)
        return end

    def _take(self, line: LogLine, at: int) -> None:
        key = self._key(line)
        if key in self._open:
            if line.tagged:
                self._tagged.add(key)
            if self._open[key][0].take(line.text, line.raw, at):
                return
            self._close(key)
        if begins(line.text):
            above = self._headers.get(key, "") if line.tagged else self._header
            before = line.text[: line.text.rindex("Traceback")].strip(" :,") or above
            self._open[key] = (Traceback(before, at), line)
            self._latest = key
            return
        self._header = line.text.strip() or self._header
        self._headers[key] = line.text.strip() or self._headers.get(key, "")
        if at >= self._hit or line.tagged:
            self._listener.line(line, at)

    def _key(self, line: LogLine) -> tuple[str, str]:
        """Lines of one process and level belong together; bare lines may continue what only began with a tag."""
        if line.tagged:
            return f"{line.service}|{line.process}", line.level
        latest = self._latest
        if latest is None or latest not in self._open or latest in self._tagged:
            return "", ""
        is_frame = line.text[:1] in (" ", "\t")
        if latest != ("", "") and not is_frame and latest not in self._bare:
            return "", ""
        self._bare.add(latest)
        return latest

    def _close(self, key: tuple[str, str]) -> None:
        done, line = self._open.pop(key)
        self._tagged.discard(key)
        self._bare.discard(key)
        if done.raised:
            self._listener.traceback(done, line, done.header)

    def _still_quoted(self, line: LogLine, quoted: bool) -> bool:
        if quoting.quotes_a_user(line.text) and line.tagged:
            return quoting.left_open(line.text)
        return quoted and not line.tagged

    def _inside_a_quotation(self) -> bool:
        """Whether the lines here continue a prompt that was logged over several lines."""
        behind = self._listener.text.read(self._start - LINES_BYTES, self._start).split(b"\n")
        for raw in reversed(behind[:-1]):
            line = read_line(raw)
            if line.tagged or quoting.quotes_a_user(line.text):
                return quoting.quotes_a_user(line.text) and quoting.left_open(line.text)
        return False

    def _some_lines_before(self, hit: int, not_before: int) -> int:
        behind = self._listener.text.read(hit - LINES_BYTES, hit)
        at = len(behind)
        for _ in range(_BEFORE_LINES):
            at = line_start(behind, at - 1) if at > 0 else 0
        return max(not_before, hit - len(behind) + at)
