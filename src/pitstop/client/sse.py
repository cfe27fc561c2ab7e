"""Server-sent events by the WHATWG standard (HTML, 9.2.6), over a whole body that was kept.

Works on bytes: lines end at CR, LF or CRLF and nowhere else, so that U+2028 or U+0085 inside a text split nothing. Each
event knows where its last data line ends in the body; when that byte arrived is when the event arrived, wherever the
network cut the stream.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")  # found one after another, which stays linear for any body


class Event(msgspec.Struct, frozen=True, gc=False):
    """One dispatched event. `end` is the offset just behind the last byte of its last data line."""

    data: bytes
    end: int
    type: str = "message"
    last_id: str = ""


@dataclass(frozen=True)
class EventStream:
    """What a body holds. `tail` is an event that no blank line closed: the standard drops it, some servers mean it."""

    events: tuple[Event, ...]
    tail: Event | None = None
    comments: int = 0
    retry_ms: int | None = None


def parse_events(body: bytes) -> EventStream:
    """Every event of `body` in order. Nothing in `body` makes this fail."""
    return _usual(body) or _any(body)


def _usual(body: bytes) -> EventStream | None:
    """The quick way for what nearly all bodies are: one `data: ` line an event, LF alone, nothing else. Else None."""
    if b"\r" in body or not body.endswith(b"\n\n"):
        return None
    events, end = [], -2
    blocks = body.split(b"\n\n")
    del blocks[-1]
    for block in blocks:
        if not block.startswith(b"data: ") or b"\n" in block:
            return None
        end += len(block) + 2
        events.append(Event(block[6:], end))
    return EventStream(tuple(events))


def _any(body: bytes) -> EventStream:
    reader = _Reader()
    start = len(_BOM) if body.startswith(_BOM) else 0
    for ending in _LINE_END.finditer(body, start):
        reader.take(body[start : ending.start()], ending.start())
        start = ending.end()
    whole = tuple(reader.events)
    if start < len(body):
        reader.take(body[start:], len(body))
    reader.dispatch()
    tail = reader.events[-1] if len(reader.events) > len(whole) else None
    return EventStream(whole, tail, reader.comments, reader.retry_ms)


class _Reader:
    """The buffers that the standard names, and what was dispatched."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.comments = 0
        self.retry_ms: int | None = None
        self._data: list[bytes] = []
        self._type = ""
        self._last_id = ""
        self._end = 0

    def take(self, line: bytes, end: int) -> None:
        if line.startswith(b"data: "):  # nearly all lines; the general way below gives the same
            self._data.append(line[6:])
            self._end = end
        elif not line:
            self.dispatch()
        elif line.startswith(b":"):
            self.comments += 1
        else:
            name, _, value = line.partition(b":")
            self._field(name, value.removeprefix(b" "), end)

    def dispatch(self) -> None:
        if self._data:
            self.events.append(Event(b"\n".join(self._data), self._end, self._type or "message", self._last_id))
            self._data = []
        self._type = ""

    def _field(self, name: bytes, value: bytes, end: int) -> None:
        if name == b"data":
            self._data.append(value)
            self._end = end
        elif name == b"event":
            self._type = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry_ms = int(value[:18])
