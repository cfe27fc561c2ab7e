"""How long which configuration was up, and what it served meanwhile: the denominator of every crash rate."""

from __future__ import annotations

from sqlalchemy import Connection, case, func, select

from pitstop.core.errors import UsageError
from pitstop.ledger.records import Configuration, Exposure, Spell, instant
from pitstop.ledger.rows import document_of, put, text_of
from pitstop.ledger.tables import exposure


def write(connection: Connection, spell: Spell) -> None:
    if not 0 <= spell.hours_up < float("inf"):
        raise UsageError(f"spell {spell.spell} was up for {spell.hours_up} hours, which cannot be.")
    row = {
        "spell": spell.spell,
        "engine": spell.engine,
        "configuration": spell.configuration.key,
        "started_at": instant(spell.started_at),
        "ended_at": instant(spell.ended_at),
        "hours_up": spell.hours_up,
        "boots": spell.boots,
        "requests": spell.requests,
        "tokens": spell.tokens,
        "document": text_of(spell, Spell),
    }
    put(connection, exposure, row)


def total(
    connection: Connection, engine: str | None, configuration: Configuration | str | None, since: str | None
) -> Exposure:
    hours = exposure.c.hours_up
    query = select(
        func.count(),
        func.coalesce(func.sum(hours), 0.0),
        func.coalesce(func.sum(exposure.c.boots), 0),
        func.sum(exposure.c.requests),
        func.coalesce(func.sum(case((exposure.c.requests.is_not(None), hours))), 0.0),
        func.sum(exposure.c.tokens),
        func.coalesce(func.sum(case((exposure.c.tokens.is_not(None), hours))), 0.0),
        func.min(exposure.c.started_at),
        func.max(exposure.c.ended_at),
    )
    if engine is not None:
        query = query.where(exposure.c.engine == engine)
    if configuration is not None:
        key = configuration if isinstance(configuration, str) else configuration.key
        query = query.where(exposure.c.configuration == key)
    if since is not None:
        query = query.where(exposure.c.started_at >= instant(since))
    spells, up, boots, requests, requests_hours, tokens, tokens_hours, first, last = connection.execute(query).one()
    return Exposure(
        spells=spells,
        hours_up=up,
        boots=boots,
        requests=None if requests is None else int(requests),
        requests_hours=requests_hours,
        tokens=None if tokens is None else int(tokens),
        tokens_hours=tokens_hours,
        first_at=first,
        last_at=last,
    )


def latest(connection: Connection, engine: str | None, limit: int) -> list[Spell]:
    query = select(exposure.c.spell, exposure.c.document).order_by(exposure.c.started_at.desc()).limit(limit)
    if engine is not None:
        query = query.where(exposure.c.engine == engine)
    return [document_of(row.document, Spell, f"spell {row.spell}") for row in connection.execute(query)]
