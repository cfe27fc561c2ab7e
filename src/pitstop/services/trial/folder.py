"""The folders of trials: which there are, where each stands, which still owe a restore."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pitstop.core.config.trial import Trial
from pitstop.core.documents import TrialDocument, encode
from pitstop.core.durable import remove_durably, write_durably
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.decisions.trial import Do, Ending, How, Policy, State, replay
from pitstop.services.trial.journal import steps
from pitstop.services.trial.promise import FILE as PROMISE
from pitstop.services.trial.promise import Promise, read_promise, write_promise
from pitstop.stats.sequential import Plan

DOCUMENT = "trial.json"


def policy_of(trial: Trial) -> Policy:
    """How often a trial tries again, and after which blocks it looks."""
    plan = plan_of(trial)
    return Policy(looks=plan.looks[:-1] if plan else ())


def plan_of(trial: Trial) -> Plan | None:
    """When a trial that may stop early looks: halfway and at the end; None for one that may not."""
    return Plan.halfway(trial.boots) if trial.stop_early and trial.boots > 1 else None


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
        """Where the trial stands by its journal; UsageError when promise or journal cannot be read."""
        promise = self.promise()
        try:
            told = steps(self.path)
        except OSError as error:
            raise UsageError(
                f"the journal of {self.path} cannot be read: {error.strerror or error}.",
                hint=f"See that the disk is well and {self.path} is yours, then run `pitstop trial recover`.",
            ) from error
        return replay(promise.boots, told, policy_of(promise.trial))

    def blocks_done(self, planned: int) -> int:
        """How many blocks the verdicts are about: all that were planned, or those before the trial stopped early."""
        early = [
            action.boot.block
            for action, outcome in steps(self.path)
            if action.do is Do.LOOK and action.boot and outcome and outcome.how is How.ENOUGH
        ]
        return early[0] if early else planned

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
        try:
            if not (self.path / PROMISE).exists():
                return False
            state = self.state()
        except (UsageError, OSError):
            return True
        return state.touched and not state.restored

    def is_settled(self) -> bool:
        """Whether it came to its end, or its journal says that production is back; a missing folder says neither."""
        if not (self.path / PROMISE).exists():
            return False
        try:
            return not self.is_open() or self.state().restored
        except UsageError:
            return False

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
