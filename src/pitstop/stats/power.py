"""What a trial of so many blocks can show, told before it takes production down.

Effects and spreads are on natural logarithms, as in `verdict`: log(1.06) for six percent.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING

from pitstop.stats.noise import NoisePrior

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_BLOCKS = 1000


def power(effect: float, *, blocks: int, sd: float, prior_df: float = 0.0, confidence: float = 0.95) -> float:
    """The chance that the interval excludes no difference when `effect` is true: a noncentral t.

    `sd` is that of one block's log ratio; `prior_df` what the ledger adds to `blocks - 1` degrees of freedom.
    """
    _check(sd, confidence)
    df = blocks - 1 + prior_df
    if blocks < 1 or df < 1:  # below one degree of freedom nothing is known that could be excluded
        return 0.0
    from scipy.special import ndtr, stdtrit  # noqa: PLC0415  # scipy is slow to import

    limit = float(stdtrit(df, (1 + confidence) / 2))
    shift = abs(effect) * math.sqrt(blocks) / sd
    spreads, weights = _spreads(df)
    return float(weights @ (ndtr(shift - limit * spreads) + ndtr(-shift - limit * spreads)))


def blocks_for(
    effect: float, *, sd: float, wanted: float = 0.8, prior_df: float = 0.0, confidence: float = 0.95
) -> int | None:
    """The fewest blocks that show `effect` with the `wanted` power; None beyond a thousand."""
    counts = range(1, _MOST_BLOCKS + 1)
    position = bisect_left(
        counts, wanted, key=lambda n: power(effect, blocks=n, sd=sd, prior_df=prior_df, confidence=confidence)
    )
    return counts[position] if position < len(counts) else None


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


@lru_cache(maxsize=256)
def _spreads(df: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What the estimated spread may come out as, over the true one, with Gauss-Legendre weights over its quantiles.

    scipy's noncentral t is NaN for large shifts; this agrees with it to 2e-5 wherever it is not.
    """
    import numpy as np  # noqa: PLC0415  # slow to import
    from scipy.special import gammaincinv  # noqa: PLC0415

    nodes, weights = np.polynomial.legendre.leggauss(200)
    return np.sqrt(gammaincinv(df / 2, (nodes + 1) / 2) * 2 / df), weights / 2


def _check(sd: float, confidence: float) -> None:
    if not (math.isfinite(sd) and sd > 0):
        raise ValueError(f"a spread is a finite number above zero, not {sd}")
    if not 0.5 < confidence < 1:
        raise ValueError(f"the confidence lies between 0.5 and 1, not at {confidence}")
