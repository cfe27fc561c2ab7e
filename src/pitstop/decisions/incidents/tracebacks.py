"""Tracebacks put together line by line: where they begin, what they chain, which exception was first."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BEGINS = "Traceback (most recent call last):"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_FRAME = re.compile(r'\s+File "(?P<file>[^"]*)", line \d+(?:, in (?P<name>.*))?')
_CLASS = re.compile(r"(?P<class>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:: (?P<message>.*))?$")
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?::|$)")
_MAX_TRACE_CHARS = 40_000
_MAX_LINES = 3000  # of one traceback; a log that never ends one must not be held for ever


@dataclass(frozen=True)
class Raised:
    """One exception: its class without modules, its first line, and the functions and code it came through."""

    kind: str
    message: str
    trace: str
    raw: str
    number: int  # of the line, counted by the caller

    @property
    def spoken(self) -> str:
        """What signatures are matched with."""
        return f"{self.kind}: {self.message}" if self.message else self.kind


@dataclass
class Traceback:
    """One traceback with what it chains; `header` is what stood before it, `closed` once nothing more can come."""

    header: str
    began: int
    raised: list[Raised] = field(default_factory=list)
    _trace: list[str] = field(default_factory=list)
    _chars: int = 0
    _lines: int = 0
    _open: bool = True
    _chaining: bool = False

    def take(self, text: str, raw: str, number: int) -> bool:
        """Give it the next line of its process; False when the line does not belong to it any more."""
        self._lines += 1
        if self._lines > _MAX_LINES:
            return False
        if self._open:
            self._within(text, raw, number)
            return True
        return self._between(text)

    def _within(self, text: str, raw: str, number: int) -> None:
        if text[:1] in (" ", "\t") or not text.strip():
            self._frame(text)
            return
        match = _CLASS.match(text)
        kind = match["class"].rpartition(".")[2] if match else ""
        message = (match["message"] or "") if match else text
        self.raised.append(Raised(kind, message.strip(), "\n".join(self._trace), raw, number))
        self._open, self._trace, self._chars = False, [], 0

    def _frame(self, text: str) -> None:
        """Keep function names and code, never file and line: those differ from version to version."""
        match = _FRAME.match(text)
        kept = (match["name"] or "") if match else text.strip(" ^~\t")
        if kept and self._chars < _MAX_TRACE_CHARS:
            self._trace.append(kept)
            self._chars += len(kept)

    def _between(self, text: str) -> bool:
        """After an exception: the rest of its message, a chain, or something else."""
        if text.startswith(_CHAINED):
            self._chaining = True
            return True
        if text.endswith(BEGINS):
            if self._chaining:
                self._open, self._chaining = True, False
                return True
            return False
        return not text.strip() or self._chaining

    @property
    def complete(self) -> bool:
        return bool(self.raised) and not self._open


def begins(text: str) -> bool:
    return text.endswith(BEGINS)


def looks_like_exception(text: str) -> bool:
    """Whether an unindented line is an exception's, as it stands at the end of a traceback."""
    return _EXCEPTION.match(text) is not None
