"""Many figures, one trial: the primary ones stand alone, the rest are held to Holm's correction together.

S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979): whatever the figures'
dependence, the chance of any wrong better or worse among the corrected ones stays below 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pitstop.core.documents import Verdict
from pitstop.stats.verdict import Judgement


def corrected(judgements: Sequence[tuple[bool, Judgement]], *, confidence: float = 0.95) -> list[Judgement]:
    """The judgements in their order; those not primary (first of the pair is False) with adjusted p-values.

    A better or worse that does not survive becomes undecided. Equivalence rests on its interval, not on a p-value, and
    stays; so does a verdict without a p-value, which was reached by boots that failed.
    """
    adjusted = iter(adjust([judgement.p_value for primary, judgement in judgements if not primary]))
    return [judgement if primary else _held(judgement, next(adjusted), confidence) for primary, judgement in judgements]


def adjust(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values in the order given; None (nothing was tested) stays out of the family."""
    for p in p_values:
        if p is not None and not 0 <= p <= 1:
            raise ValueError(f"a p-value lies between 0 and 1, not at {p}")
    known = sorted((p, position) for position, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, position) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        adjusted[position] = largest
    return adjusted


def _held(judgement: Judgement, adjusted: float | None, confidence: float) -> Judgement:
    judgement = replace(judgement, p_value=adjusted)
    decided = judgement.verdict in (Verdict.BETTER, Verdict.WORSE)
    if not decided or adjusted is None or adjusted < 1 - confidence:
        return judgement
    note = f"; one of many figures: corrected for that, p = {adjusted:.2f} does not decide"
    return replace(judgement, verdict=Verdict.UNDECIDED, reason=judgement.reason + note)
