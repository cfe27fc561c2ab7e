"""Standard streams that can break without breaking the work.

A reader that goes away (`pitstop trial run … | head`), a full disk behind `> log`, a terminal that was closed: none of
these may end a trial between production's stop and its restore. What cannot be written is dropped; whether that
matters is asked when the work is done.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Steady(io.RawIOBase):
    """A descriptor whose first failure is kept in `broken`, and after which everything is dropped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.broken: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        view = memoryview(data)
        if self.broken is None:
            try:
                return self._written(view)
            except OSError as error:
                self.broken = error
        return len(view)

    def _written(self, view: memoryview) -> int:
        while True:
            try:
                return os.write(self._descriptor, view)
            except BlockingIOError:  # somebody made the pipe non-blocking: wait until it has room, or is closed
                select.select([], [self._descriptor], [])

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    @property
    def lost(self) -> str:
        """Why somebody who wanted the output has not got it; empty when all was written, or the reader had enough."""
        if self.broken is None or self.broken.errno == errno.EPIPE:
            return ""
        return self.broken.strerror or str(self.broken)


def steady_streams() -> tuple[Steady, Steady]:
    """Put steady streams in the place of `sys.stdout` and `sys.stderr`; returns what is below them.

    A program may be started with descriptors closed; then the next file that it opens would be its standard output.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    out, err = Steady(1), Steady(2)
    sys.stdout, sys.stderr = _text(out, sys.stdout), _text(err, sys.stderr)
    return out, err


def _text(raw: Steady, replaced: TextIO | None) -> io.TextIOWrapper:
    """A terminal may know fewer letters than we use; they are shown as their codes."""
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(replaced, "encoding", None) or "utf-8",
        errors="backslashreplace",
        line_buffering=raw.isatty() or raw.fileno() == 2,
    )
