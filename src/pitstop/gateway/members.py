"""A JSON object's top level as spans of its bytes, so that one member changes and every other byte stays as it came.

Numbers keep their digits, strings their escapes, unknown fields their order. A body with a key twice is rebuilt with
the last one, so that the gateway and the engine behind it cannot read two different requests.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import msgspec

_KEY = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_GAP = re.compile(rb"[ \t\r\n]*")
_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class Span:
    """Where a member lies: its key begins at `begin`, its value at `value`, and ends before `end`."""

    begin: int
    value: int
    end: int


@dataclass(frozen=True)
class Members:
    """The bytes of one JSON object and where its members lie in them."""

    body: bytes
    spans: Mapping[str, Span]

    def __contains__(self, key: str) -> bool:
        return key in self.spans

    def raw(self, key: str) -> bytes | None:
        """The bytes of a value, None when there is no such member."""
        span = self.spans.get(key)
        return None if span is None else self.body[span.value : span.end]

    def get(self, key: str) -> Any:
        """A value, decoded; None when it is null or absent. ValueError when it nests too deeply or is no JSON."""
        raw = self.raw(key)
        return None if raw is None else decode(raw)

    def edited(self, values: Mapping[str, bytes], dropped: Set[str] = frozenset()) -> bytes:
        """The object with some values replaced or added at its end, and some members left out."""
        if any(key in self.spans for key in dropped):
            kept = {key: span for key, span in self.spans.items() if key not in dropped}
            return _read(_built({key: self.body[span.value : span.end] for key, span in kept.items()})).edited(values)
        parts: list[bytes] = []
        position = 0
        for key, span in self.spans.items():
            if key in values:
                parts += [self.body[position : span.value], values[key]]
                position = span.end
        added = [msgspec.json.encode(key) + b":" + value for key, value in values.items() if key not in self.spans]
        if added:
            end = max((span.end for span in self.spans.values()), default=self.body.index(b"{") + 1)
            joined = b",".join([b"", *added] if self.spans else added)
            parts += [self.body[position:end], joined]
            position = end
        return b"".join([*parts, self.body[position:]])


def read(body: bytes) -> Members:
    """Find the members of the object that `body` is; ValueError when it is none."""
    return _read(body)


def decode(raw: bytes) -> Any:
    """Plain JSON; ValueError when it is none, however that shows."""
    with _told_as_value_error():
        return msgspec.json.decode(raw)


@contextlib.contextmanager
def _told_as_value_error() -> Iterator[None]:
    # msgspec's own errors and UnicodeDecodeError are ValueErrors already.
    try:
        yield
    except RecursionError as error:
        raise ValueError("it nests too deeply") from error


def _read(body: bytes) -> Members:
    values = _values(body)
    spans = _spans(body, values)
    if spans is None:
        body = _built({key: bytes(value) for key, value in values.items()})
        spans = _spans(body, values)
        assert spans is not None, "a rebuilt object has its members where they were put"
    return Members(body, spans)


def _values(body: bytes) -> dict[str, msgspec.Raw]:
    with _told_as_value_error():
        return _decoder.decode(body)


def _spans(body: bytes, values: Mapping[str, msgspec.Raw]) -> dict[str, Span] | None:
    """Walk along the members; None when a key comes twice, because then the walk meets one too many."""
    spans: dict[str, Span] = {}
    position = body.index(b"{") + 1
    for key, value in values.items():
        match = _KEY.match(body, position)
        if match is None or msgspec.json.decode(match.group(1)) != key:
            return None
        raw = bytes(value)
        end = match.end() + len(raw)
        if not body.startswith(raw, match.end()):
            return None
        spans[key] = Span(match.start(1), match.end(), end)
        position = _after_gap(body, end) + 1  # behind the comma, or behind the closing brace
    closed = _after_gap(body, position) >= len(body) and body[: position + 1].rstrip().endswith(b"}")
    return spans if closed or not values else None


def _after_gap(body: bytes, position: int) -> int:
    match = _GAP.match(body, position)
    return position if match is None else match.end()


def _built(values: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(msgspec.json.encode(key) + b":" + raw for key, raw in values.items()) + b"}"
