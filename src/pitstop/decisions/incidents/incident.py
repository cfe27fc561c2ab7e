"""One failure as it is told: what, since when, which lines say so, what followed, what to do."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """As in the document of `incidents scan`. Times are ISO 8601, without an offset where the log told none."""

    signature: str
    summary: str
    first_at: str | None = None
    last_at: str | None = None
    evidence: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    advice: str = ""
    upstream: str = ""
    severity: str = "crash"  # crash | hang | refused
    explained: bool = True  # False: its kind is known at most, not its cause
    sources: tuple[str, ...] = ()
    detail: dict[str, Any] = {}
    first_s: float | None = None
    place: int = 0  # in the log; tells failures apart whose log has no times

    @property
    def key(self) -> str:
        """The same failure has the same key, however often its log is scanned."""
        when = self.first_at or f"{self.place} in {'|'.join(self.sources)}"
        told = "|".join((self.signature, when, *self.evidence[:3]))
        return hashlib.sha256(told.encode()).hexdigest()[:12]


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was seen and is no incident."""

    text: str
    lines: tuple[str, ...] = ()


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    incidents: tuple[Incident, ...]
    notes: tuple[Note, ...] = ()

    @property
    def unexplained(self) -> int:
        return sum(not one.explained for one in self.incidents)
