"""What a log tells of a failure, event by event."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.decisions.incidents.signatures import Role, Signature


@dataclass(frozen=True)
class Event:
    """One line, or one traceback, that has a part in the story. `number` orders the events of one source."""

    role: Role
    message: str
    source: str
    number: int
    lines: tuple[str, ...]  # as they stand in the log
    signature: Signature | None = None
    process: str = ""
    rank: int | None = None
    at: str | None = None
    epoch_s: float | None = None
    trace: str = ""
    from_traceback: bool = False

    @property
    def is_primary(self) -> bool:
        """Whether it can be what happened first."""
        return self.role in (Role.CAUSE, Role.UNKNOWN)
