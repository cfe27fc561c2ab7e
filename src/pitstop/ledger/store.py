"""The ledger's door: `Ledger.open`, then one method per thing that is written or asked.

Each method is one transaction: after it returns, what it wrote survives a power cut; a process killed inside it has
written nothing. Writing the same thing again (a trial recovered, a log scanned twice) changes nothing. A write syncs
the disk, so it is never done inside a measured window. All methods may be called from any thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from sqlalchemy import Connection, Engine

from pitstop.core.documents import RunDocument, TrialDocument
from pitstop.ledger import incidents, noise, pins, requests, runs, trials, uptime
from pitstop.ledger.failures import damaged, spoken
from pitstop.ledger.opening import connected
from pitstop.ledger.records import (
    BootFigure,
    Configuration,
    Exposure,
    FigurePoint,
    IncidentRecord,
    PinRecord,
    RunSummary,
    Spell,
    Transition,
    TrialSummary,
)
from pitstop.ledger.requests import RequestRow, Usage
from pitstop.stats.noise import NoisePrior

LIST_LENGTH = 50


class Ledger:
    """An open ledger. Every failure is a UsageError, or Unreachable where a server does not answer."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self.name = name

    @classmethod
    def open(cls, url_or_path: str | Path) -> Ledger:
        """Open or create the ledger at a path or `postgresql+psycopg://` URL, and bring its schema up to date.

        UsageError, with nothing touched, when it is of a newer pitstop or of another program.
        """
        return cls(*connected(url_or_path))

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def check(self) -> None:
        """Read every page; UsageError when one is damaged. Opening reads a few of them only. Seconds for a gigabyte."""
        if self._engine.dialect.name != "sqlite":
            return  # a server looks after its own pages
        with self._reading() as connection:
            told = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
        if told != "ok":
            raise damaged(self.name, told)

    # Runs

    def record_run(self, document: RunDocument, *, trial_id: str | None = None, arm: str | None = None) -> None:
        """Keep a run whole, and its figures and samples as rows; the same id again replaces it."""
        with self._writing() as connection:
            runs.write(connection, document, trial_id, arm)

    def runs(
        self, *, model: str | None = None, trial_id: str | None = None, limit: int = LIST_LENGTH
    ) -> list[RunSummary]:
        """The latest runs first."""
        with self._reading() as connection:
            return runs.latest(connection, model, trial_id, limit)

    def run(self, id_or_prefix: str) -> RunDocument:
        """The run of that id, or of the only id that begins so; UsageError names the near ones."""
        with self._reading() as connection:
            return runs.read(connection, id_or_prefix)

    def history(self, ruler: str, case: str, metric: str, *, limit: int = LIST_LENGTH) -> list[FigurePoint]:
        """One figure over all runs, the latest first."""
        with self._reading() as connection:
            return runs.history(connection, ruler, case, metric, limit)

    def samples(self, run_id: str, ruler: str, case: str, metric: str) -> list[float]:
        """Every sample of one figure of one run, in the order in which they were taken."""
        with self._reading() as connection:
            return runs.samples(connection, run_id, ruler, case, metric)

    # Trials

    def record_trial(self, document: TrialDocument) -> None:
        """Keep a trial whole, and each of its runs; the same id again replaces it."""
        with self._writing() as connection:
            trials.write(connection, document)

    def list_trials(self, *, limit: int = LIST_LENGTH) -> list[TrialSummary]:
        """The latest trials first."""
        with self._reading() as connection:
            return trials.latest(connection, limit)

    def trial(self, id_or_prefix: str) -> TrialDocument:
        """The trial of that id, or of the only id that begins so; UsageError names the near ones."""
        with self._reading() as connection:
            return trials.read(connection, id_or_prefix)

    def record_transition(self, transition: Transition) -> None:
        """Keep a step of a trial, once however often it is told; a new one also moves the trial's state."""
        with self._writing() as connection:
            trials.write_transition(connection, transition)

    def transitions(self, trial_id: str) -> list[Transition]:
        """The steps of a trial, the earliest first."""
        with self._reading() as connection:
            return trials.transitions(connection, trial_id)

    # Noise

    def record_noise(self, figures: Sequence[BootFigure]) -> None:
        """Keep what unchanged boots gave: production boots, and both arms of A/A trials."""
        with self._writing() as connection:
            noise.write(connection, figures)

    def noise_prior(self, engine_kind: str, ruler: str, case: str, metric: str) -> NoisePrior | None:
        """This box's boot-to-boot noise of a figure; None when no configuration was booted twice."""
        with self._reading() as connection:
            return noise.prior(connection, engine_kind, ruler, case, metric)

    # Incidents and exposure

    def add_incident(self, record: IncidentRecord) -> None:
        """Keep an incident; the same id again replaces what was known of it."""
        with self._writing() as connection:
            incidents.write(connection, record)

    def incidents(
        self,
        *,
        signature: str | None = None,
        engine: str | None = None,
        since: str | None = None,
        limit: int = LIST_LENGTH,
    ) -> list[IncidentRecord]:
        """The latest incidents first; `since` is a time, included."""
        with self._reading() as connection:
            return incidents.latest(connection, signature, engine, since, limit)

    def incident(self, id_or_prefix: str) -> IncidentRecord:
        """The incident of that id, or of the only id that begins so; UsageError names the near ones."""
        with self._reading() as connection:
            return incidents.read(connection, id_or_prefix)

    def add_exposure(self, spell: Spell) -> None:
        """Keep a stretch of being up; told again while it lasts, the numbers are replaced, not added."""
        with self._writing() as connection:
            uptime.write(connection, spell)

    def exposure(
        self, *, engine: str | None = None, configuration: Configuration | str | None = None, since: str | None = None
    ) -> Exposure:
        """All spells added up, of one engine, of one configuration, or begun at `since` or later."""
        with self._reading() as connection:
            return uptime.total(connection, engine, configuration, since)

    def spells(self, *, engine: str | None = None, limit: int = LIST_LENGTH) -> list[Spell]:
        """The latest stretches first."""
        with self._reading() as connection:
            return uptime.latest(connection, engine, limit)

    # Pins

    def record_pin(self, record: PinRecord) -> None:
        with self._writing() as connection:
            pins.write(connection, record)

    def pins(self, engine: str, *, limit: int = LIST_LENGTH) -> list[PinRecord]:
        """What an engine was pinned to, the latest first: `pins[1]` is what a rollback returns to."""
        with self._reading() as connection:
            return pins.history(connection, engine, limit)

    # The gateway's requests

    def record_requests(self, rows: Sequence[RequestRow]) -> None:
        """Keep what the gateway saw go by; each call adds."""
        with self._writing() as connection:
            requests.write(connection, rows)

    def requests(self, *, key: str | None = None, limit: int = LIST_LENGTH) -> list[RequestRow]:
        """The latest requests first."""
        with self._reading() as connection:
            return requests.latest(connection, key, limit)

    def request_usage(self, *, since: str | None = None) -> list[Usage]:
        """Requests and tokens per key and route; tokens that no engine told are counted apart, not as zero."""
        with self._reading() as connection:
            return requests.usage(connection, since)

    def forget_requests(self, before: str) -> int:
        """Delete requests older than a time; how many there were."""
        with self._writing() as connection:
            return requests.forget(connection, before)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Connection]:
        with spoken(self.name), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection]:
        with spoken(self.name), self._engine.connect() as opened:
            connection = opened.execution_options(writing=True)
            with connection.begin():
                yield connection
