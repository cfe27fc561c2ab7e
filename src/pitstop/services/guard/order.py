"""What a guard is told and what it reports, as values that cross a process boundary as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from pitstop.decisions.guard import GuardPolicy


class GuardVerdict(StrEnum):
    CLEAN = "clean"  # its time was up, or it was told to stop; nothing was killed
    GONE = "gone"  # what it owned ended by itself
    TRIPPED = "tripped"  # it killed what it owns
    REFUSED = "refused"  # it could not have done its job; nothing was killed
    INTERRUPTED = "interrupted"  # by a signal; nothing was killed


@dataclass(frozen=True, slots=True)
class GuardOrder:
    """One guard's task. It owns either `pid` with its tree or `container` (a name or an id), or is told what later."""

    engine: str  # in words
    policy: GuardPolicy
    csv: str
    evidence: str  # folder for what is known when it kills
    pid: int | None = None
    container: str = ""
    binary: str = "docker"  # or podman
    for_s: float | None = None  # how long; None: until stopped
    procfs: str = "/proc"
    controlled: bool = False  # by a parent: standard input carries `pid N`, `container ID`, `stop`
    kill_when_low: bool = False  # kill at once instead of refusing when a limit is violated at the start
    mark: str = ""  # NUL-separated NAME=VALUE that every process of this engine carries in its environment
    after: tuple[
        str, ...
    ] = ()  # run with the evidence's path behind it when the guard has killed: incident, notification
    recovery_s: float = 2.5  # how long memory may stand still before it looks for orphans, and again after that

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> GuardOrder:
        raw = json.loads(text)
        return cls(**{**raw, "policy": GuardPolicy(**raw["policy"]), "after": tuple(raw["after"])})


@dataclass(slots=True)
class GuardReport:
    """How it went. Sizes in bytes, times ISO 8601 in UTC; None is "not known"."""

    engine: str
    schema: str = "pitstop.guard"
    version: int = 1
    verdict: str = GuardVerdict.CLEAN
    reason: str = ""
    cause: str | None = None
    started_at: str = ""
    finished_at: str = ""
    target: dict[str, Any] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)
    readings: int = 0
    first_available_bytes: int | None = None
    last_available_bytes: int | None = None
    lowest_available_bytes: int | None = None
    lowest_at: str | None = None
    highest_swap_growth_bytes: int | None = None
    killed: list[dict[str, Any]] = field(default_factory=list)  # pid and name
    reading_to_signal_ms: float | None = None  # from the reading that crossed to the last signal of the first round
    since_previous_reading_ms: float | None = None
    memory_back: bool | None = None
    available_after_bytes: int | None = None
    still_there: list[dict[str, Any]] = field(default_factory=list)
    books: str = ""  # what `docker kill` said
    locked: bool = False  # whether its memory is locked
    csv: str = ""
    rows_lost: int = 0
    evidence: str | None = None
    ring: list[dict[str, Any]] = field(default_factory=list)  # the last readings before the kill
    warnings: list[str] = field(default_factory=list)

    @property
    def tripped(self) -> bool:
        return self.verdict == GuardVerdict.TRIPPED

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> GuardReport:
        return cls(**json.loads(text))
