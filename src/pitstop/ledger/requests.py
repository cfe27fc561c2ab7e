"""What went through the gateway: one row per request, without content. Tokens are the engine's own count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, func, insert, select

from pitstop.ledger.records import instant
from pitstop.ledger.tables import gateway_request as table


class RequestRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Times in seconds, `at_s` since the epoch; None means "not known", never zero."""

    request_id: str
    at_s: float
    key: str
    route: str  # what was asked for; empty when the request was refused before that was known
    answered_by: str  # the route that answered
    engine: str
    api: str
    stream: bool
    status: int  # 499: the client left
    outcome: str
    reason: str = ""
    failures: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    ttft_s: float | None = None
    e2e_s: float = 0.0
    held_s: float = 0.0
    thinking_budget: int | None = None
    budget_kept: str | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What one key used of one route. Tokens are sums over the `counted` requests whose engine told them."""

    key: str
    route: str
    requests: int
    counted: int
    prompt_tokens: int | None
    completion_tokens: int | None


def write(connection: Connection, rows: Sequence[RequestRow]) -> None:
    if rows:
        connection.execute(insert(table), [_columns(row) for row in rows])


def latest(connection: Connection, key: str | None, limit: int) -> list[RequestRow]:
    query = select(table).order_by(table.c.id.desc()).limit(limit)
    if key is not None:
        query = query.where(table.c.key == key)
    return [_row(row) for row in connection.execute(query).mappings()]


def usage(connection: Connection, since: str | None) -> list[Usage]:
    query = (
        select(
            table.c.key,
            table.c.route,
            func.count().label("requests"),
            func.count(table.c.completion_tokens).label("counted"),
            func.sum(table.c.prompt_tokens).label("prompt_tokens"),
            func.sum(table.c.completion_tokens).label("completion_tokens"),
        )
        .group_by(table.c.key, table.c.route)
        .order_by(table.c.key, table.c.route)
    )
    if since is not None:
        query = query.where(table.c.at >= instant(since))
    return [
        msgspec.convert({f"{name}": value for name, value in row.items()}, Usage)
        for row in connection.execute(query).mappings()
    ]


def forget(connection: Connection, before: str) -> int:
    return connection.execute(delete(table).where(table.c.at < instant(before))).rowcount


def _columns(row: RequestRow) -> dict[str, object]:
    columns = msgspec.structs.asdict(row)
    columns["at"] = datetime.fromtimestamp(columns.pop("at_s"), UTC).isoformat(timespec="microseconds")
    return columns


def _row(row: Mapping[Any, Any]) -> RequestRow:
    # SQLAlchemy quotes `key`, a word of SQL, and names it with a subclass of str that msgspec does not take.
    columns = {f"{name}": value for name, value in row.items() if name != "id"}
    columns["at_s"] = datetime.fromisoformat(str(columns.pop("at"))).timestamp()
    return msgspec.convert(columns, RequestRow, strict=False)
