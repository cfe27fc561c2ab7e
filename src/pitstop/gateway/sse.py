"""Server-sent events cut into frames without changing a byte: what goes in comes out, only at event boundaries.

CR, LF and CRLF all end a line, and a blank line ends an event (HTML Living Standard, 9.2.6).
"""

from __future__ import annotations

import re

_EOL = rb"(?:\r\n|\n|\r(?!\n))"
_BOUNDARY = re.compile(_EOL + _EOL)
_LINES = re.compile(rb"\r\n|\n|\r")
MOST_FRAME_BYTES = 16 * 2**20  # one event with many log probabilities or a picture; beyond it nothing is watched


class FrameTooLong(ValueError):
    """An event that does not end; `pending` holds what has come so far."""

    def __init__(self, pending: bytes) -> None:
        super().__init__("an event does not end")
        self.pending = pending


class Splitter:
    """Feed chunks as they come from the network; get whole frames, each with the blank line that ends it."""

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The frames that this chunk completes; FrameTooLong when one grows without end."""
        # Nearly every chunk is one whole event of an engine that writes LF.
        if not self._tail and chunk.endswith(b"\n\n") and chunk.find(b"\n\n") == len(chunk) - 2 and b"\r" not in chunk:
            return [chunk]
        return self._cut(self._tail + chunk, len(self._tail))

    def rest(self) -> bytes:
        """What came after the last whole frame."""
        return self._tail

    def _cut(self, text: bytes, seen: int) -> list[bytes]:
        frames: list[bytes] = []
        begin = 0
        search_from = max(0, seen - 3)  # a boundary has at most four bytes, one of which is new
        while match := _BOUNDARY.search(text, search_from):
            if match.end() == len(text) and text.endswith(b"\r"):
                break  # perhaps the first half of a CRLF
            frames.append(text[begin : match.end()])
            begin = search_from = match.end()
        self._tail = text[begin:]
        if len(self._tail) > MOST_FRAME_BYTES:
            pending, self._tail = self._tail, b""
            raise FrameTooLong(b"".join([*frames, pending]))
        return frames


def data_of(frame: bytes) -> bytes | None:
    """The data of an event, its lines joined by LF; None for a comment, a bare event name or empty data.

    `data: : keepalive`, which some proxies make of a comment, counts as none.
    """
    if frame.startswith(b"data: ") and frame.endswith(b"\n\n") and frame.find(b"\n") == len(frame) - 2:
        data = frame[6:-2].rstrip(b"\r")
    else:
        lines = [line for line in _LINES.split(frame) if line.startswith(b"data")]
        data = b"\n".join(_value(line) for line in lines if line == b"data" or line.startswith(b"data:"))
    return None if not data.strip() or data.startswith(b":") else data


def _value(line: bytes) -> bytes:
    value = line[5:]
    return value[1:] if value.startswith(b" ") else value
