"""From the ledger to the windows that a verdict compares: events and days before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pitstop.core.errors import UsageError
from pitstop.ledger.records import IncidentRecord, Spell, instant
from pitstop.ledger.store import Ledger
from pitstop.stats.rates import Window

_ALL = 1_000_000  # a ledger of a million incidents has other problems
DAY_S = 86400.0


@dataclass(frozen=True)
class Halves:
    """What lies before and after a change; `exposure_from` says where the days come from."""

    before: Window
    after: Window
    changed_at: datetime
    exposure_from: str  # `spells`, or `calendar` where the ledger does not know how long the engine was up
    events_after: tuple[IncidentRecord, ...] = ()


def halves(
    ledger: Ledger,
    *,
    signature: str | None,
    engine: str | None,
    since: datetime | None,
    changed_at: datetime | None,
    now: datetime,
) -> Halves:
    """Count in the ledger. Without `changed_at` the change is the beginning of the present configuration."""
    spells = ledger.spells(engine=engine, limit=_ALL)
    events = ledger.incidents(signature=signature, engine=engine, limit=_ALL)
    changed = changed_at or _present_configuration(spells)
    start = since or _first(spells, events) or changed
    if not start <= changed <= now:
        raise UsageError(
            f"the change ({changed:%Y-%m-%d %H:%M}) is not between {start:%Y-%m-%d %H:%M} and {now:%Y-%m-%d %H:%M}.",
            hint="Check --since, --changed-at and --now.",
        )
    after = tuple(one for one in events if changed <= moment(one.at) <= now)
    before = sum(start <= moment(one.at) < changed for one in events)
    known = any(_overlap_days(one, start, now) for one in spells)
    if known:
        days = _up(spells, start, changed), _up(spells, changed, now)
    else:
        days = (changed - start).total_seconds() / DAY_S, (now - changed).total_seconds() / DAY_S
    return Halves(
        _window(before, days[0], "before"), _window(len(after), days[1], "after"), changed,
        "spells" if known else "calendar", after,
    )  # fmt: skip


def of_configuration(ledger: Ledger, key: str, signature: str | None) -> Window:
    """Events and days of one configuration, named by its key or how that begins."""
    spells = [one for one in ledger.spells(limit=_ALL) if one.configuration.key.startswith(key)]
    keys = {one.configuration.key for one in spells}
    if len(keys) != 1:
        raise UsageError(
            f"`{key}` names {len(keys)} configurations in the ledger.",
            hint="Write a configuration's key, or a count such as 2/72d.",
        )
    events = [
        one
        for one in ledger.incidents(signature=signature, limit=_ALL)
        if one.configuration is not None and one.configuration.key in keys
    ]
    return _window(len(events), sum(one.hours_up for one in spells) / 24, key)


def moment(text: str) -> datetime:
    """A time, or a date at its beginning, in UTC."""
    return datetime.fromisoformat(instant(text)).astimezone(UTC)


def _window(events: int, days: float, which: str) -> Window:
    try:
        return Window(events, days)
    except ValueError as error:
        hint = "Record exposure, or give it: --before N --in 72d."
        raise UsageError(f"{which} the change: {error}.", hint=hint) from error


def _present_configuration(spells: Sequence[Spell]) -> datetime:
    """When the latest configuration began to run without another one in between."""
    if not spells:
        raise UsageError(
            "The ledger does not know since when the present configuration runs.",
            hint="Say it: --changed-at 2026-09-27, or give the counts: --before 2 --in 72d --clean-since 2026-09-27.",
        )
    latest = spells[0].configuration.key
    begun = spells[0]
    for spell in spells:
        if spell.configuration.key != latest:
            break
        begun = spell
    return moment(begun.started_at)


def _first(spells: Sequence[Spell], events: Iterable[IncidentRecord]) -> datetime | None:
    times = [moment(one.started_at) for one in spells] or [moment(one.at) for one in events]
    return min(times, default=None)


def _up(spells: Iterable[Spell], start: datetime, end: datetime) -> float:
    return sum(_overlap_days(one, start, end) for one in spells)


def _overlap_days(spell: Spell, start: datetime, end: datetime) -> float:
    """The spell's days up that lie between two times; of a spell across a border, its share."""
    began, ended = moment(spell.started_at), moment(spell.ended_at)
    whole = (ended - began).total_seconds()
    inside = (min(ended, end) - max(began, start)).total_seconds()
    if inside <= 0:
        return 0.0
    return spell.hours_up / 24 * (inside / whole if whole > 0 else 1.0)
