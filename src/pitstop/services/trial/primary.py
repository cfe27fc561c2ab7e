"""Which figures a trial decides by."""

from __future__ import annotations

from pitstop.core.config.trial import Trial
from pitstop.rulers.registry import ruler_for


def primary_of(trial: Trial) -> tuple[str, ...]:
    """Globs over `ruler/case/metric`: those that the trial names, else each ruler's own choice."""
    return trial.primary or tuple(glob for ruler in trial.rulers for glob in ruler_for(ruler).primary)
