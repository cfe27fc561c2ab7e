"""The folders of trials: which there are, where each stands, which still owe a restore."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pitstop.core.documents import TrialDocument, encode
from pitstop.core.durable import remove_durably, write_durably
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.decisions.trial import Ending, Policy, State, replay
from pitstop.services.trial.journal import steps
from pitstop.services.trial.promise import FILE as PROMISE
from pitstop.services.trial.promise import Promise, read_promise, write_promise

DOCUMENT = "trial.json"
POLICY = Policy()


@dataclass(frozen=True)
class TrialFolder:
    """One trial on disk."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    def create(self, promise: Promise) -> None:
        """Put the promise on disk; UsageError when the disk does not take it, and then nothing may be touched."""
        try:
            (self.path / "runs").mkdir(parents=True, mode=0o700)
            write_promise(self.path, promise)
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written: {error.strerror or error}.",
                hint="Production was not touched. Make room there, or set PITSTOP_HOME to another disk.",
            ) from error

    def abandon(self) -> None:
        """Take back a promise that nothing was done under yet."""
        with contextlib.suppress(OSError):
            remove_durably(self.path / PROMISE)

    def promise(self) -> Promise:
        return read_promise(self.path)

    def state(self) -> State:
        """Where the trial stands by its journal."""
        return replay(self.promise().boots, steps(self.path), POLICY)

    def save(self, document: TrialDocument) -> None:
        write_durably(self.path / DOCUMENT, encode(document))

    def saved(self) -> TrialDocument | None:
        """The document of a trial that came to its end; None for one that did not."""
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode((self.path / DOCUMENT).read_bytes(), type=TrialDocument)
        return None

    def owes_restore(self) -> bool:
        """Whether production may not be as it was, and nobody has proved that it is.

        A trial without a promise touched nothing; one whose promise cannot be read is taken to owe.
        """
        saved = self.saved()
        if saved is not None:
            return saved.state == Ending.NOT_RESTORED
        if not (self.path / PROMISE).exists():
            return False
        try:
            state = self.state()
        except UsageError:
            return True
        return state.touched and not state.restored

    def is_open(self) -> bool:
        """Whether the trial has not come to its end: it runs, or its process was killed."""
        saved = self.saved()
        return saved is None or saved.state == Ending.NOT_RESTORED


def folders(home: Home) -> list[TrialFolder]:
    """Every trial that got as far as a promise, oldest first."""
    if not home.trials.is_dir():
        return []
    return [TrialFolder(path) for path in sorted(home.trials.iterdir()) if (path / PROMISE).exists()]


def open_trials(home: Home) -> list[TrialFolder]:
    """Trials without an end; with no live process they are for `recover`."""
    return [folder for folder in folders(home) if folder.is_open()]


def owed(home: Home) -> list[TrialFolder]:
    """Trials after which production is not known to be back."""
    return [folder for folder in open_trials(home) if folder.owes_restore()]
