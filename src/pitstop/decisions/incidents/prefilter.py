"""Where in a long log something may be: literals only, because `bytes.find` reads gigabytes where `re` reads megabytes.

A log of a healthy engine holds almost none of these, so almost all of it is passed over without being split into lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge

# Words that stand in most faults and in few other lines: an anchor that holds one needs no search of its own.
_BROAD = (b"rror", b"raceback (most", b" failed", b"NCCL")


class Prefilter:
    """Finds the lines in which one of the anchors stands, in the order of the text."""

    def __init__(self, anchors: Iterable[str]) -> None:
        wanted = {anchor.encode() for anchor in anchors if anchor}
        own = [anchor for anchor in wanted if not any(word in anchor for word in _BROAD)]
        shortest = [one for one in own if not any(other != one and other in one for other in own)]
        self.needles: tuple[bytes, ...] = (*_BROAD, *sorted(shortest))

    def hits(self, block: bytes, start: int = 0) -> Iterator[int]:
        """Offsets at or after `start`, ascending; one line may be hit more than once."""
        return merge(*(_found(block, needle, start) for needle in self.needles))


def found(block: bytes, literals: Iterable[str], start: int = 0) -> list[int]:
    """Offsets of plain literals, ascending."""
    return list(merge(*(_found(block, literal.encode(), start) for literal in literals)))


def line_start(block: bytes, at: int) -> int:
    return block.rfind(b"\n", 0, at) + 1


def line_end(block: bytes, at: int) -> int:
    """Behind the line's newline, or the end of the block."""
    end = block.find(b"\n", at)
    return len(block) if end < 0 else end + 1


def _found(block: bytes, needle: bytes, start: int) -> Iterator[int]:
    at = block.find(needle, start)
    while at >= 0:
        yield at
        # Once per line is enough: the next search begins behind it.
        end = block.find(b"\n", at)
        at = -1 if end < 0 else block.find(needle, end + 1)
