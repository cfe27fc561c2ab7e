"""Finds the container that a guard owns by name: now, or when it comes up, or again when it was made anew."""

from __future__ import annotations

from pitstop.services.guard.asking import Command, answer, inspect
from pitstop.services.guard.owned import Owned

_ASK_AGAIN_S = 5.0  # a container that loads a model takes minutes; the kill does not depend on it (see `execution`)


class Finder:
    """Asks the container engine in small steps, none of which waits."""

    def __init__(self, binary: str, reference: str, owned: Owned) -> None:
        self.binary, self.reference = binary, reference
        self._owned = owned
        self._asking: Command | None = None
        self._due_s = 0.0

    @property
    def pending(self) -> bool:
        return self._asking is not None

    def look_for(self, reference: str) -> None:
        self.reference, self._due_s = reference, 0.0

    def step(self, now_s: float) -> str:
        """Do the next bit of asking; returns a sentence when something became known, else an empty string."""
        if not self.reference or self._owned.up:
            return ""
        if self._asking is None:
            if now_s >= self._due_s:
                self._asking = inspect(self.binary, self.reference)
            return ""
        if not self._asking.poll():
            return ""
        said = self._conclude(self._asking)
        self._asking.close()
        self._asking, self._due_s = None, now_s + _ASK_AGAIN_S
        return said

    def _conclude(self, asked: Command) -> str:
        found = answer(asked)
        if found is None:
            return f"container {self.reference} is not up ({asked.words or 'no answer'}); waiting for it"
        if problem := self._owned.own_container(*found):
            return problem
        self._owned.signal_all(0)
        way = f"; its processes may not be signalled, so `{self.binary} kill` alone will do it" * bool(
            self._owned.denied
        )
        return f"owns container {self.reference}, {len(self._owned.names)} processes{way}"
