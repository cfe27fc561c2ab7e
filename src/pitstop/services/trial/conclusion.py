"""How a trial is concluded once nothing more is to be done about production: verdicts, document, ledger.

What comes after it tells a person that production is not back, so nothing in here may cost more than a warning.
"""

from __future__ import annotations

from collections.abc import Callable

from pitstop.core.documents import Notice, ProductionRecord, TrialDocument, VerdictRecord
from pitstop.core.errors import PitstopError
from pitstop.decisions.trial import State
from pitstop.ledger.store import Ledger
from pitstop.services.trial.folder import DOCUMENT, TrialFolder
from pitstop.services.trial.judging import verdicts
from pitstop.services.trial.noise import boot_figures
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.record import arms_that_changed, document, transitions


def concluded(folder: TrialFolder, promise: Promise, state: State, open_ledger: Callable[[], Ledger]) -> TrialDocument:
    """The document of a trial that has come to its end, kept in its folder and in the ledger as far as they take it."""
    finished = _told(folder, promise, state)
    try:
        _record(finished, folder, promise, state, open_ledger)
    except Exception as error:  # noqa: BLE001 - see above
        finished.verdicts = finished.verdicts or _without_ledger(folder, promise, finished)
        where = f"{folder.path / DOCUMENT} holds it, for `pitstop report FILE`"
        text = f"The ledger did not take this trial ({where}): {_words(error)}"
        finished.warnings.append(Notice(code="ledger", text=text))
    try:
        folder.save(finished)
    except Exception as error:  # noqa: BLE001 - see above
        finished.warnings.append(Notice(code="disk", text=f"{folder.path} could not be written: {_words(error)}"))
    return finished


def _told(folder: TrialFolder, promise: Promise, state: State) -> TrialDocument:
    """What lies in the folder, folded; where it cannot be folded at least how the trial and production ended."""
    try:
        finished = document(folder.path, promise, state)
        finished.warnings += arms_that_changed(finished)
    except Exception as error:  # noqa: BLE001 - see above
        return TrialDocument(
            id=promise.id,
            name=promise.name,
            state=state.ending.value,
            started_at=promise.started_at,
            production=ProductionRecord(
                engine=promise.engine_name,
                fingerprint_before=promise.production.fingerprint,
                restored=state.restored or not state.touched,
            ),
            warnings=[Notice(code="folder", text=f"{folder.path} cannot be read as a trial: {_words(error)}")],
        )
    return finished


def _record(
    finished: TrialDocument, folder: TrialFolder, promise: Promise, state: State, open_ledger: Callable[[], Ledger]
) -> None:
    with open_ledger() as ledger:
        finished.verdicts = verdicts(folder, promise, ledger)
        for step in transitions(folder.path, promise.id, state.ending):
            ledger.record_transition(step)
        ledger.record_trial(finished)
        ledger.record_noise(boot_figures(finished, promise.engine.kind))


def _without_ledger(folder: TrialFolder, promise: Promise, finished: TrialDocument) -> list[VerdictRecord]:
    try:
        return verdicts(folder, promise, None)
    except Exception as error:  # noqa: BLE001 - see above
        finished.warnings.append(Notice(code="verdicts", text=f"No verdict could be given: {_words(error)}"))
        return []


def _words(error: Exception) -> str:
    """An error of ours speaks for itself; anything else is named too."""
    return str(error) if isinstance(error, PitstopError | OSError) else f"{type(error).__name__}: {error}"
