"""From a path or URL to a database of this pitstop's schema, safely when two processes do it at once."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, inspect, make_url, text

from pitstop.core.errors import UsageError
from pitstop.ledger.failures import spoken
from pitstop.ledger.tables import SCHEMA, VERSION_TABLE

BUSY_TIMEOUT_MS = 30_000
_UNREADABLE = "the ledger's URL cannot be read; write postgresql+psycopg://USER@HOST/DATABASE."
_MIGRATION_LOCK = 0x70697473  # PostgreSQL advisory lock: "pits"


def connected(place: str | Path) -> tuple[Engine, str]:
    """An engine on a ledger whose schema is current, and how to call the place in a sentence (without a password).

    UsageError when the ledger is of a newer pitstop, of another program, damaged or not writable.
    """
    url = _url(place)
    name = url.database or "" if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
    with spoken(name):
        if url.get_backend_name() == "sqlite":
            _refuse_unfit(Path(name), name)
            _create_private(Path(name))
        engine = _engine(url)
        try:
            _bring_up_to_date(engine, name)
        except BaseException:
            engine.dispose()
            raise
        return engine, name


def _url(place: str | Path) -> URL:
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(Path(place).absolute()))
    try:
        url = make_url(place)
    except (exc.ArgumentError, ValueError) as error:
        raise UsageError(_UNREADABLE) from error
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise UsageError(f"the ledger lives in SQLite or PostgreSQL, not in {backend}.")
    if backend == "sqlite" and url.database in (None, "", ":memory:"):
        raise UsageError("a ledger in memory would forget everything; name a file, like sqlite:////srv/ledger.sqlite3.")
    return url


def _refuse_unfit(path: Path, name: str) -> None:
    """Look before anything is touched, through a connection that cannot write."""
    if not path.exists() or path.stat().st_size == 0:
        return
    tables, version = _seen(path)
    if tables and VERSION_TABLE not in tables:
        raise UsageError(f"{name} is a database of another program; name another file for the ledger.")
    _refuse_newer(version, name)


def _seen(path: Path) -> tuple[set[str], Any]:
    """The tables that a file has, and its schema version's row.

    Without a write-ahead log nobody has it open, and the bare file is read, so that not even a log appears beside it.
    Somebody may open it meanwhile and be caught in the middle of a write, so what looks damaged is read again politely.
    """
    if not path.with_name(f"{path.name}-wal").exists():
        with contextlib.suppress(sqlite3.Error):
            return _read(path, "immutable=1")
    return _read(path, "mode=ro")


def _read(path: Path, mode: str) -> tuple[set[str], Any]:
    reader = sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=BUSY_TIMEOUT_MS / 1000)
    with contextlib.closing(reader):
        tables = {row[0] for row in reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        known = VERSION_TABLE in tables
        version = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608  # a constant
        return tables, reader.execute(version).fetchone() if known else None


def _create_private(path: Path) -> None:
    """Evidence and prompts are the owner's business; the files that SQLite puts beside it get the same mode."""
    with contextlib.suppress(OSError):  # SQLite will say what is wrong, with its own words and codes
        path.touch(mode=0o600, exist_ok=True)


def _refuse_newer(row: Any, name: str) -> None:
    version = row[0] if row else ""
    if version and not (version.isdigit() and int(version) <= int(SCHEMA)):
        raise UsageError(
            f"the ledger {name} was written by a newer pitstop (its schema is {version}, this one knows {SCHEMA}).",
            hint="Upgrade pitstop, or point it at another ledger; nothing was changed.",
        )


def _engine(url: URL) -> Engine:
    try:
        engine = create_engine(url)
    except exc.NoSuchModuleError as error:
        raise UsageError(_UNREADABLE) from error
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the ledger's database needs the Python package {error.name}, which is not installed.",
            hint=f"Install {error.name} beside pitstop, then try again.",
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun below, in words, so that DDL is part of them
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA foreign_keys = ON")
    try:
        connection.execute("PRAGMA journal_mode = WAL")  # readers never wait for the writer
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_BUSY":  # somebody else is switching this file over just now
            raise
    connection.execute("PRAGMA synchronous = FULL")  # a commit that was reported survives a power cut


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: a reader that turns writer half way is refused without waiting.
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _bring_up_to_date(engine: Engine, name: str) -> None:
    with engine.connect() as connection:
        if _version(connection) == SCHEMA:
            return
    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        version = _version(connection)  # again: whoever held the lock before us may have done the work
        _refuse_newer((version,), name)
        if version != SCHEMA:
            from pitstop.ledger.migrations import upgrade  # noqa: PLC0415  # Alembic is slow to import, rarely needed

            upgrade(connection)


def _version(connection: Connection) -> str:
    if not inspect(connection).has_table(VERSION_TABLE):
        return ""
    row = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).fetchone()  # noqa: S608  # a constant
    return str(row[0]) if row else ""
