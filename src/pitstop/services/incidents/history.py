"""A history that was kept by hand, as a file: incidents, and how long the engine was up.

[[incident]]
at = 2026-06-27
signature = "crash"
engine = "qwen"

[[spell]]
engine = "qwen"
from = 2026-06-25
to = 2026-09-05
image_digest = "sha256:…"
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec

from pitstop.core.errors import UsageError
from pitstop.ledger.records import Configuration, IncidentRecord, Spell, instant

_HINT = "docs/incidents.md shows a whole one."


class _Incident(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    at: Any  # a date, a time, or ISO 8601 in quotes
    signature: str
    engine: str | None = None
    summary: str = ""
    evidence: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    advice: str = ""
    upstream: str = ""


class _Spell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    engine: str
    began: Any = msgspec.field(name="from")
    ended: Any = msgspec.field(name="to")
    days_up: float | None = None  # where it was not up all the time
    boots: int = 1
    requests: int | None = None
    tokens: int | None = None
    image_digest: str | None = None
    driver: str | None = None
    kernel: str | None = None
    flags: str | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    incident: tuple[_Incident, ...] = ()
    spell: tuple[_Spell, ...] = ()


@dataclass(frozen=True)
class History:
    incidents: tuple[IncidentRecord, ...]
    spells: tuple[Spell, ...]


def read_history(path: Path) -> History:
    """Read the file; UsageError says what is wrong with it. Imported twice it changes nothing."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
        file = msgspec.convert(raw, _File)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.", hint=_HINT) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path} is no history: {error}.", hint=_HINT) from error
    # Two crashes of one day and kind are two: the place in the file is part of the id.
    incidents = tuple(_incident(one, number) for number, one in enumerate(file.incident))
    return History(incidents, tuple(_spell(one, path) for one in file.spell))


def _incident(one: _Incident, number: int) -> IncidentRecord:
    at = _moment(one.at).isoformat()
    told = f"{at}|{one.signature}|{one.engine}|{one.summary}|{number}"
    return IncidentRecord(
        id=f"kept-{hashlib.sha256(told.encode()).hexdigest()[:12]}",
        recorded_at=at,
        signature=one.signature,
        summary=one.summary or one.signature,
        first_at=at,
        engine=one.engine,
        evidence=one.evidence,
        consequences=one.consequences,
        advice=one.advice,
        upstream=one.upstream,
        detail={"source": "kept by hand"},
    )


def _spell(one: _Spell, path: Path) -> Spell:
    began, ended = _moment(one.began), _moment(one.ended)
    if ended < began:
        raise UsageError(f"{path}: the spell of {one.engine} from {one.began} ends before it begins.", hint=_HINT)
    days = (ended - began).total_seconds() / 86400
    if one.days_up is not None and not 0 <= one.days_up <= days:
        raise UsageError(f"{path}: the spell of {one.engine} from {one.began} cannot have {one.days_up} days up.")
    configuration = Configuration(image_digest=one.image_digest, driver=one.driver, kernel=one.kernel, flags=one.flags)
    return Spell(
        spell=f"kept-{one.engine}-{began.isoformat()}",
        engine=one.engine,
        configuration=configuration,
        started_at=began.isoformat(),
        ended_at=ended.isoformat(),
        hours_up=(days if one.days_up is None else one.days_up) * 24,
        boots=one.boots,
        requests=one.requests,
        tokens=one.tokens,
    )


def _moment(value: Any) -> datetime:
    """A date means its beginning, and a time without an offset means UTC. UsageError when it is neither."""
    if isinstance(value, str):
        value = datetime.fromisoformat(instant(value))
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, datetime):
        raise UsageError(f"{value!r} is not a time; write it like 2026-10-19 or 2026-10-19T21:04:00Z.", hint=_HINT)
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
