"""Trials, and the steps they went through."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from pitstop.core.documents import TrialDocument
from pitstop.ledger import runs
from pitstop.ledger.records import Transition, TrialSummary, instant
from pitstop.ledger.rows import document_of, find_id, put, put_once, text_of
from pitstop.ledger.tables import transition, trial


def write(connection: Connection, document: TrialDocument) -> None:
    """Replace the trial of this id, and the runs of its arms."""
    row = {
        "id": document.id,
        "name": document.name,
        "engine": document.production.engine,
        "state": document.state,
        "started_at": instant(document.started_at),
        "finished_at": None if document.finished_at is None else instant(document.finished_at),
        "document": text_of(document, TrialDocument),
    }
    put(connection, trial, row)
    for arm in document.arms:
        for run in arm.runs:
            runs.write(connection, run, document.id, arm.name)


def latest(connection: Connection, limit: int) -> list[TrialSummary]:
    columns = [trial.c[name] for name in TrialSummary.__struct_fields__]
    query = select(*columns).order_by(trial.c.started_at.desc(), trial.c.id.desc()).limit(limit)
    return [TrialSummary(**row) for row in connection.execute(query).mappings()]


def read(connection: Connection, id_or_prefix: str) -> TrialDocument:
    """The document as it was last recorded, in the state that the last step left it in."""
    trial_id = find_id(connection, trial.c.id, id_or_prefix, "trial")
    row = connection.execute(select(trial.c.document, trial.c.state).where(trial.c.id == trial_id)).one()
    document = document_of(row.document, TrialDocument, f"trial {trial_id}")
    document.state = row.state
    return document


def write_transition(connection: Connection, step: Transition) -> None:
    row = {name: getattr(step, name) for name in Transition.__struct_fields__} | {"at": instant(step.at)}
    if put_once(connection, transition, row):
        connection.execute(update(trial).where(trial.c.id == step.trial_id).values(state=step.to_state))


def transitions(connection: Connection, trial_id: str) -> list[Transition]:
    columns = [transition.c[name] for name in Transition.__struct_fields__]
    query = select(*columns).where(transition.c.trial_id == trial_id).order_by(transition.c.at, transition.c.id)
    return [Transition(**row) for row in connection.execute(query).mappings()]
