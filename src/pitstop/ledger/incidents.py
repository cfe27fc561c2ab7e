"""What broke."""

from __future__ import annotations

from sqlalchemy import Connection, select

from pitstop.ledger.records import IncidentRecord, instant
from pitstop.ledger.rows import document_of, find_id, put, text_of
from pitstop.ledger.tables import incident


def write(connection: Connection, record: IncidentRecord) -> None:
    row = {
        "id": record.id,
        "at": instant(record.at),
        "signature": record.signature,
        "engine": record.engine,
        "configuration": record.configuration.key if record.configuration else None,
        "document": text_of(record, IncidentRecord),
    }
    put(connection, incident, row)


def latest(
    connection: Connection, signature: str | None, engine: str | None, since: str | None, limit: int
) -> list[IncidentRecord]:
    query = select(incident.c.id, incident.c.document).order_by(incident.c.at.desc(), incident.c.id.desc()).limit(limit)
    if signature is not None:
        query = query.where(incident.c.signature == signature)
    if engine is not None:
        query = query.where(incident.c.engine == engine)
    if since is not None:
        query = query.where(incident.c.at >= instant(since))
    return [document_of(row.document, IncidentRecord, f"incident {row.id}") for row in connection.execute(query)]


def read(connection: Connection, id_or_prefix: str) -> IncidentRecord:
    incident_id = find_id(connection, incident.c.id, id_or_prefix, "incident")
    text = connection.scalars(select(incident.c.document).where(incident.c.id == incident_id)).one()
    return document_of(text, IncidentRecord, f"incident {incident_id}")
