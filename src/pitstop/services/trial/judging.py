"""The verdicts of a trial from the runs on disk: at the end, and at a look in the middle."""

from __future__ import annotations

from collections.abc import Callable

from pitstop.core.documents import RunDocument, VerdictRecord
from pitstop.core.errors import PitstopError
from pitstop.ledger.store import Ledger
from pitstop.services.trial.folder import TrialFolder, plan_of
from pitstop.services.trial.primary import primary_of
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.record import read_runs
from pitstop.services.trial.verdicts import Key, Noise, Question, judge_arms, why_stop
from pitstop.stats.noise import NoisePrior
from pitstop.stats.sequential import Plan


def verdicts(folder: TrialFolder, promise: Promise, ledger: Ledger | None) -> list[VerdictRecord]:
    """Every judged figure of every variant, as the runs on disk show them."""
    question = _question(promise, folder.blocks_done(promise.trial.boots))
    return judge_arms(read_runs(folder.path, promise, 0), _variants(folder, promise), question, _noise(promise, ledger))


def enough(folder: TrialFolder, promise: Promise, open_ledger: Callable[[], Ledger], blocks: int) -> str:
    """Why the trial may end after so many blocks; "" to go on. A ledger that cannot be read makes it go on."""
    plan = plan_of(promise.trial)
    if plan is None or blocks not in plan.looks:
        return ""
    try:
        with open_ledger() as ledger:
            noise, question = _noise(promise, ledger), _question(promise, blocks)
            return why_stop(read_runs(folder.path, promise, 0), _variants(folder, promise), question, noise, plan)
    except PitstopError:
        return ""


def _question(promise: Promise, blocks: int) -> Question:
    trial, plan = promise.trial, plan_of(promise.trial)
    return Question(
        minimum_effect=float(trial.minimum_effect),
        minimum_score_effect=float(trial.minimum_score_effect),
        primary=primary_of(trial),
        blocks=tuple(range(blocks)),
        confidence=_confidence(plan, blocks) if plan else 0.95,
    )


def _confidence(plan: Plan, blocks: int) -> float:
    """Of the look at which the trial ended; of the last one for a trial that was interrupted in between."""
    return plan.confidence_at(blocks if blocks in plan.looks else plan.blocks)


def _noise(promise: Promise, ledger: Ledger | None) -> Noise:
    def noise(key: Key) -> NoisePrior | None:
        return ledger.noise_prior(promise.engine.kind, *key) if ledger else None

    return noise


def _variants(folder: TrialFolder, promise: Promise) -> dict[str, dict[int, RunDocument]]:
    return {arm.name: read_runs(folder.path, promise, index) for index, arm in enumerate(promise.arms) if index}
