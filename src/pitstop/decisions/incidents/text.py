"""A log as bytes that can be read at any place, in blocks, in lines, around places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

LINES_BYTES = 64 * 1024  # read at once where lines are wanted one by one


class Text(Protocol):
    """A log that can be read at any place."""

    name: str
    size: int

    def read(self, start: int, end: int) -> bytes:
        """The bytes between two offsets; fewer at the end."""
        ...


@dataclass(frozen=True)
class Bytes:
    """A log in memory."""

    name: str
    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)

    def read(self, start: int, end: int) -> bytes:
        return self.content[max(0, start) : max(0, end)]


def blocks(text: Text, size: int, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """A log in blocks of whole lines, each with its offset; a line longer than a block is cut."""
    at, end = max(0, start), text.size if end is None else min(end, text.size)
    while at < end:
        block = text.read(at, min(at + size, end))
        if not block:
            return
        cut = block.rfind(b"\n") + 1
        if 0 < cut < len(block) and at + len(block) < end:
            block = block[:cut]
        yield at, block
        at += len(block)


def lines_from(text: Text, start: int) -> Iterator[tuple[int, bytes]]:
    """Lines with their offsets, each with its end."""
    for at, block in blocks(text, LINES_BYTES, start):
        for raw in block.splitlines(keepends=True) if b"\r" not in block else _split(block):
            yield at, raw
            at += len(raw)  # noqa: PLW2901  # the place within the block


def _split(block: bytes) -> list[bytes]:
    return [line + b"\n" for line in block.split(b"\n")] if block.endswith(b"\n") else block.split(b"\n")


def windows(places: Sequence[int], around: int) -> Iterator[tuple[int, int]]:
    """Stretches around the places, each stretch once."""
    start = end = -1
    for place in sorted(places):
        if end >= 0 and place - around > end:
            yield start, end
            start = -1
        start = max(0, place - around) if start < 0 else start
        end = place + around
    if end >= 0:
        yield start, end
