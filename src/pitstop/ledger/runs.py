"""Runs: the document whole, its figures and samples as rows for histories and statistics."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, and_, delete, insert, select

from pitstop.core.documents import RunDocument
from pitstop.ledger.records import FigurePoint, RunSummary, instant
from pitstop.ledger.rows import document_of, find_id, put, text_of
from pitstop.ledger.tables import figure, run, sample


def write(connection: Connection, document: RunDocument, trial_id: str | None, arm: str | None) -> None:
    """Replace the run of this id. A trial and arm once told are kept when a later call does not name them."""
    text = text_of(document, RunDocument)
    known = connection.execute(select(run.c.document, run.c.trial_id, run.c.arm).where(run.c.id == document.id)).first()
    if known is not None:
        trial_id, arm = trial_id or known.trial_id, arm or known.arm
        if known == (text, trial_id, arm):
            return
    put(connection, run, _row(document, text, trial_id, arm))
    connection.execute(delete(figure).where(figure.c.run_id == document.id))  # and with them their samples
    _insert_figures(connection, document)


def latest(connection: Connection, model: str | None, trial_id: str | None, limit: int) -> list[RunSummary]:
    columns = [run.c[name] for name in RunSummary.__struct_fields__]
    query = select(*columns).order_by(run.c.started_at.desc(), run.c.id.desc()).limit(limit)
    if model is not None:
        query = query.where(run.c.model == model)
    if trial_id is not None:
        query = query.where(run.c.trial_id == trial_id)
    return [RunSummary(**row) for row in connection.execute(query).mappings()]


def read(connection: Connection, id_or_prefix: str) -> RunDocument:
    run_id = find_id(connection, run.c.id, id_or_prefix, "run")
    text = connection.scalars(select(run.c.document).where(run.c.id == run_id)).one()
    return document_of(text, RunDocument, f"run {run_id}")


def history(connection: Connection, ruler: str, case: str, metric: str, limit: int) -> list[FigurePoint]:
    named = and_(figure.c.ruler == ruler, figure.c.case == case, figure.c.metric == metric)
    columns = [figure.c[name] for name in FigurePoint.__struct_fields__]
    query = select(*columns).where(named).order_by(figure.c.started_at.desc()).limit(limit)
    return [FigurePoint(**row) for row in connection.execute(query).mappings()]


def samples(connection: Connection, run_id: str, ruler: str, case: str, metric: str) -> list[float]:
    joined = and_(sample.c.run_id == figure.c.run_id, sample.c.ordinal == figure.c.ordinal)
    named = and_(figure.c.run_id == run_id, figure.c.ruler == ruler, figure.c.case == case, figure.c.metric == metric)
    query = select(sample.c.value).join(figure, joined).where(named).order_by(sample.c.ordinal, sample.c.position)
    return list(connection.scalars(query))


def _row(document: RunDocument, text: str, trial_id: str | None, arm: str | None) -> dict[str, Any]:
    engine = document.engine
    return {
        "id": document.id,
        "trial_id": trial_id,
        "arm": arm,
        "started_at": instant(document.started_at),
        "engine_kind": engine.kind,
        "model": engine.model,
        "engine_version": engine.version,
        "image_digest": engine.image_digest,
        "fingerprint": engine.fingerprint,
        "figures": len(document.figures),
        "document": text,
    }


def _insert_figures(connection: Connection, document: RunDocument) -> None:
    started_at = instant(document.started_at)
    names = ("ruler", "case", "metric", "unit", "value", "reason", "source", "n")
    figures = [
        {
            "run_id": document.id,
            "ordinal": ordinal,
            "started_at": started_at,
            "status": str(one.status),
            **{name: getattr(one, name) for name in names},
        }
        for ordinal, one in enumerate(document.figures)
    ]
    samples_taken = [
        {"run_id": document.id, "ordinal": ordinal, "position": position, "value": value}
        for ordinal, one in enumerate(document.figures)
        for position, value in enumerate(one.samples)
    ]
    if figures:
        connection.execute(insert(figure), figures)
    if samples_taken:
        connection.execute(insert(sample), samples_taken)
