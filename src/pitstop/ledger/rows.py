"""What all tables share: replacing a row, finding one by the beginning of its id, and reading documents back."""

from __future__ import annotations

import difflib
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Column, Connection, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite

from pitstop.core.errors import UsageError

T = TypeVar("T")

_NAMED = 5  # ids in a message: enough to pick from, few enough to read


def put(connection: Connection, table: Table, row: dict[str, Any]) -> None:
    """Insert a row, or replace all that a row of the same key says."""
    statement = _insert(connection, table).values(row)
    keys = [column.name for column in table.primary_key]
    values = {name: statement.excluded[name] for name in row if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values))


def put_once(connection: Connection, table: Table, row: dict[str, Any]) -> bool:
    """Insert a row unless it is there; True when it was new."""
    statement = _insert(connection, table).values(row).on_conflict_do_nothing()
    # What was inserted is returned; psycopg's row count is not told to us here.
    return connection.execute(statement.returning(next(iter(table.primary_key)))).first() is not None


def text_of(document: Any, kind: type[T]) -> str:
    """The JSON of a document, once it is known to read back; UsageError names the place that would not (a NaN, say)."""
    try:
        encoded = msgspec.json.encode(document)
        msgspec.json.decode(encoded, type=kind)
    except (msgspec.MsgspecError, UnicodeEncodeError, TypeError) as error:
        raise UsageError(f"this {kind.__name__} cannot be kept, since it would not read back: {error}") from error
    return encoded.decode()


def document_of(text: str, kind: type[T], what: str) -> T:
    """A stored document; UsageError when it is not one, which means that somebody else wrote it."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise UsageError(f"the ledger's record of {what} cannot be read: {error}") from error


def find_id(connection: Connection, column: Column[str], id_or_prefix: str, what: str) -> str:
    """The id itself, or the only one that begins so. UsageError names those that come near."""
    begins = func.substr(column, 1, len(id_or_prefix)) == id_or_prefix
    query = select(column).where(begins).order_by(column != id_or_prefix, column).limit(_NAMED + 1)
    possible = id_or_prefix and "\0" not in id_or_prefix  # PostgreSQL refuses NUL even in a question
    found = list(connection.scalars(query)) if possible else []
    if found and (found[0] == id_or_prefix or len(found) == 1):
        return found[0]
    if found:
        more = ", …" if len(found) > _NAMED else ""
        raise UsageError(f"`{id_or_prefix}` begins {what}s {', '.join(found[:_NAMED])}{more}; write more of the id.")
    raise UsageError(f"there is no {what} `{id_or_prefix}`{_near(connection, column, id_or_prefix)}")


def _near(connection: Connection, column: Column[str], wanted: str) -> str:
    known = list(connection.scalars(select(column).order_by(column.desc()).limit(1000)))
    near = difflib.get_close_matches(wanted, known, n=_NAMED, cutoff=0.5) or known[:_NAMED]
    return f"; there are {', '.join(near)}." if near else "; none was recorded yet."


def _insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
