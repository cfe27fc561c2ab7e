"""What each engine was pinned to, and when."""

from __future__ import annotations

from sqlalchemy import Connection, select

from pitstop.ledger.records import PinRecord, instant
from pitstop.ledger.rows import document_of, put_once, text_of
from pitstop.ledger.tables import pin


def write(connection: Connection, record: PinRecord) -> None:
    row = {
        "engine": record.engine,
        "at": instant(record.at),
        "digest": record.digest,
        "document": text_of(record, PinRecord),
    }
    put_once(connection, pin, row)


def history(connection: Connection, engine: str, limit: int) -> list[PinRecord]:
    query = select(pin.c.document).where(pin.c.engine == engine).order_by(pin.c.at.desc(), pin.c.id.desc()).limit(limit)
    return [document_of(text, PinRecord, f"a pin of {engine}") for text in connection.scalars(query)]
