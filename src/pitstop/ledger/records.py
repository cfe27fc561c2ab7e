"""What the ledger keeps beside run and trial documents. Times are ISO 8601; None means "not known", never zero."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import msgspec

from pitstop.core.errors import UsageError


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine ran as, for counting how long it ran without breaking. A change of any part starts a new count."""

    image_digest: str | None = None
    driver: str | None = None
    kernel: str | None = None
    flags: str | None = None  # fingerprint of the launch value

    @property
    def key(self) -> str:
        """Twelve hexadecimal digits that stand for this configuration in lists."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]


class IncidentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One failure of one engine, however many lines it shouted. The same `id` again replaces what was known of it."""

    id: str
    recorded_at: str
    signature: str
    summary: str
    first_at: str | None = None
    last_at: str | None = None
    engine: str | None = None
    configuration: Configuration | None = None
    evidence: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    advice: str = ""
    upstream: str = ""
    detail: dict[str, Any] = {}

    @property
    def at(self) -> str:
        """When it happened, or else when it was seen."""
        return self.first_at or self.recorded_at


class Spell(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of one engine being up. Written again with larger numbers while it lasts: `spell` is its name."""

    spell: str
    engine: str
    configuration: Configuration
    started_at: str
    ended_at: str
    hours_up: float
    boots: int = 1
    requests: int | None = None
    tokens: int | None = None


class Exposure(msgspec.Struct, frozen=True, kw_only=True):
    """Spells added up. Counts come with the hours over which they were counted, since not every spell knew them."""

    spells: int
    hours_up: float
    boots: int
    requests: int | None
    requests_hours: float
    tokens: int | None
    tokens_hours: float
    first_at: str | None
    last_at: str | None


class PinRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An image that an engine was pinned to, and what it was found to be."""

    engine: str
    at: str
    image: str  # repository:tag@digest
    digest: str
    action: str = "set"  # set | rollback | mirror
    platform_digest: str | None = None
    engine_version: str | None = None
    patches: tuple[str, ...] = ()
    driver: str | None = None
    kernel: str | None = None


class BootFigure(msgspec.Struct, frozen=True, kw_only=True):
    """What one boot gave for one figure. Two boots of one `pair` are the arms of an A/A block."""

    boot: str  # container id and start, or run id: whatever names the boot
    at: str
    engine_kind: str
    configuration: str  # key or fingerprint; boots that share it ran the same thing
    ruler: str
    case: str
    metric: str
    value: float
    pair: str | None = None


class TrialSummary(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    engine: str
    state: str
    started_at: str
    finished_at: str | None


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    started_at: str
    engine_kind: str
    model: str
    engine_version: str | None
    image_digest: str | None
    fingerprint: str | None
    trial_id: str | None
    arm: str | None
    figures: int


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    trial_id: str
    at: str
    from_state: str
    to_state: str
    detail: str = ""


class FigurePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one run, for a history of that figure."""

    run_id: str
    started_at: str
    value: float | None
    status: str
    n: int


def instant(text: str) -> str:
    """An ISO 8601 time as UTC with microseconds; without an offset it is UTC already. UsageError when it is no time."""
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError, TypeError) as error:
        raise UsageError(f"{text!r} is not a time; write it like 2026-10-19T21:04:00Z.") from error
