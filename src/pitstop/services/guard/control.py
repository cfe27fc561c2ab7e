"""The line on which a parent tells its guard what to own: `pid N`, `container NAME-OR-ID`, `stop`."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator


class Control:
    """Standard input, and the pipe that a signal handler writes to, as one thing to wait for."""

    def __init__(self, line: int | None, wakeup: int | None) -> None:
        self._line, self._wakeup, self._typed = line, wakeup, b""
        self._poll = select.poll()
        for descriptor in (line, wakeup):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)

    @property
    def open(self) -> bool:
        """False without a parent, and when the parent is gone: the guard then stays while its engine does."""
        return self._line is not None

    def wait(self, seconds: float) -> Iterator[list[str]]:
        """Wait up to `seconds`, or until something is said; yields each line's words."""
        for descriptor, _ in self._poll.poll(max(1.0, seconds * 1000)):
            if descriptor == self._wakeup:
                os.read(descriptor, 64)
            else:
                yield from self._lines()

    def _lines(self) -> Iterator[list[str]]:
        assert self._line is not None
        block = os.read(self._line, 4096)
        if not block:
            self._poll.unregister(self._line)
            self._line = None
            return
        *lines, self._typed = (self._typed + block).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").split()
