"""What a trial teaches about this box: boots of one configuration that should have measured the same."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

import msgspec

from pitstop.core.documents import ArmRecord, Figure, RunDocument, Status, TrialDocument
from pitstop.decisions.merit import is_judged
from pitstop.ledger.records import BootFigure
from pitstop.services.scores import noise_key

# What may differ between two boots that are the same: who they were, not what was asked.
_NAMES = frozenset({"arm", "overrides", "block"})


def boot_figures(trial: TrialDocument, engine_kind: str) -> list[BootFigure]:
    """Every good, judged figure of every boot; boots that share launch value and settings share a configuration."""
    return [
        BootFigure(
            boot=run.id,
            at=run.started_at,
            engine_kind=engine_kind,
            configuration=_configuration(arm, run),
            ruler=figure.ruler,
            case=noise_key((figure.ruler, figure.case, figure.metric), figure, run.engine.model)[1],
            metric=figure.metric,
            value=figure.value or 0.0,
            pair=_pair(trial, run),
        )
        for arm in trial.arms
        for run in arm.runs
        for figure in _good(run)
    ]


def _pair(trial: TrialDocument, run: RunDocument) -> str | None:
    """The block of an A/A trial: its two boots are a pair that should have measured the same."""
    same = len(trial.arms) == 2 and trial.arms[0].fingerprint == trial.arms[1].fingerprint
    return f"{trial.id}-{run.settings.get('block')}" if same else None


def _good(run: RunDocument) -> Iterator[Figure]:
    for figure in run.figures:
        has_ratio = figure.value is not None and math.isfinite(figure.value) and figure.value > 0
        if figure.status is Status.OK and is_judged(figure.metric) and has_ratio:
            yield figure


def _configuration(arm: ArmRecord, run: RunDocument) -> str:
    asked = {name: value for name, value in run.settings.items() if name not in _NAMES}
    digest = hashlib.sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()[:12]
    return f"{arm.fingerprint}-{digest}"
