"""What a trial of so many blocks can show, told before it takes production down.

Effects and spreads are on natural logarithms, as in `verdict`: log(1.06) for six percent.
"""

from __future__ import annotations

import math

from pitstop.stats.noise import NoisePrior

_MOST_BLOCKS = 1000


def power(effect: float, *, blocks: int, sd: float, prior_df: float = 0.0, confidence: float = 0.95) -> float:
    """The chance that the interval excludes no difference when `effect` is true: a noncentral t.

    `sd` is that of one block's log ratio; `prior_df` what the ledger adds to `blocks - 1` degrees of freedom.
    """
    _check(sd, confidence)
    df = blocks - 1 + prior_df
    if blocks < 1 or df <= 0:
        return 0.0
    from scipy.special import nctdtr, stdtrit  # noqa: PLC0415  # scipy is slow to import

    limit = float(stdtrit(df, (1 + confidence) / 2))
    shift = min(abs(effect) * math.sqrt(blocks) / sd, 1e4)  # beyond that the distribution function gives up
    if shift > 30 + limit:
        return 1.0
    return float(1 - nctdtr(df, shift, limit) + nctdtr(df, shift, -limit))


def blocks_for(
    effect: float, *, sd: float, wanted: float = 0.8, prior_df: float = 0.0, confidence: float = 0.95
) -> int | None:
    """The fewest blocks that show `effect` with the `wanted` power; None beyond a thousand."""
    for blocks in range(1, _MOST_BLOCKS + 1):
        if power(effect, blocks=blocks, sd=sd, prior_df=prior_df, confidence=confidence) >= wanted:
            return blocks
    return None


def smallest_effect(blocks: int, noise: NoisePrior, *, wanted: float = 0.8, confidence: float = 0.95) -> float | None:
    """The smallest difference, as a fraction, that so many blocks show with the `wanted` power on this box."""
    low, high = 0.0, 5.0  # e^5 is a factor of 148; whoever needs more needs no statistics

    def enough(effect: float) -> bool:
        return power(effect, blocks=blocks, sd=noise.sd, prior_df=noise.df, confidence=confidence) >= wanted

    if not enough(high):
        return None
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.expm1(high)


def _check(sd: float, confidence: float) -> None:
    if not (math.isfinite(sd) and sd > 0):
        raise ValueError(f"a spread is a finite number above zero, not {sd}")
    if not 0.5 < confidence < 1:
        raise ValueError(f"the confidence lies between 0.5 and 1, not at {confidence}")
