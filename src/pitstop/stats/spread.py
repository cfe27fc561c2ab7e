"""How far apart two boots of one engine lie on this box, as well as that is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pitstop.stats.noise import NoisePrior

# The smallest spread of a block's log ratio that is believed. The rulers themselves are right to 0.5 % (benchmarks/),
# so blocks that agree better than that, or to the last digit, agree by rounding and not by knowledge.
RESOLUTION = 0.005

# A spread in the trial that the ledger's noise would produce less than once in a hundred trials: the box has changed,
# and the prior is set aside rather than averaged in.
PRIOR_CONTRADICTED = 0.01


@dataclass(frozen=True)
class Spread:
    """The standard deviation of one block's log ratio, with its degrees of freedom."""

    sd: float
    df: float
    note: str = ""

    def half_width(self, blocks: int, further: int, tail: float) -> float:
        from scipy.special import stdtrit  # noqa: PLC0415  # scipy is slow to import

        return float(stdtrit(self.df + further, tail)) * self.sd / math.sqrt(blocks + further)


def moderated(logs: Sequence[float], noise: NoisePrior | None, resolution: float) -> Spread | None:
    """Moderated spread: s² = (d0·s0² + d·s²)/(d0 + d). None when neither the blocks nor the ledger know one."""
    df = len(logs) - 1
    mean = math.fsum(logs) / len(logs)
    variance = math.fsum((x - mean) ** 2 for x in logs) / df if df else 0.0
    if noise is None:
        return Spread(max(math.sqrt(variance), resolution), df) if df else None
    known = max(noise.sd, resolution) ** 2
    if df and _contradicts(variance / known, df, noise.df):
        return Spread(
            math.sqrt(variance), df, "; the blocks differ more than this box's recorded noise, which was set aside"
        )
    moderated = (noise.df * known + df * variance) / (noise.df + df)
    source = f"; noise known from {noise.source}" if noise.source else ""
    return Spread(max(math.sqrt(moderated), resolution), noise.df + df, source)


def _contradicts(f_ratio: float, df: float, prior_df: float) -> bool:
    from scipy.special import fdtrc  # noqa: PLC0415  # scipy is slow to import

    return float(fdtrc(df, prior_df, f_ratio)) < PRIOR_CONTRADICTED
