"""What is known of a box's noise before a trial begins: the spread of a figure from boot to boot.

Everything here works on natural logarithms, because engines differ by factors: 0.02 is two percent of whatever
the figure is. The unit of noise is the block: one boot of each arm, and the log of their ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class NoisePrior:
    """The spread of the ratio of two boots of one engine, and how well it is known.

    `sd` is the standard deviation of log(boot / boot), so about a fraction; `df` the degrees of freedom behind it.
    """

    sd: float
    df: float
    source: str = ""  # in words: `6 A/A pairs`, `14 boots of 3 configurations`

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sd) and self.sd >= 0 and math.isfinite(self.df) and self.df >= 1):
            raise ValueError(f"a noise prior needs a finite sd >= 0 and df >= 1, not sd={self.sd}, df={self.df}")


# A prior is the past; a trial's own blocks must be able to outvote it. With more than 30 degrees of freedom the t
# quantile is within 4 % of the normal one, so more past buys no width, only deafness to a box that has changed.
LARGEST_DF = 30.0


def from_pairs(pairs: Sequence[tuple[float, float]]) -> NoisePrior | None:
    """The noise that A/A pairs show: both boots ran the same thing, so every ratio should have been one.

    The spread is taken about one, not about the pairs' mean: a drift within pairs is noise of the method too.
    None without a usable pair; values that are not finite and positive are refused with ValueError.
    """
    logs = [_log(second) - _log(first) for first, second in pairs]
    if not logs:
        return None
    variance = math.fsum(x * x for x in logs) / len(logs)
    return NoisePrior(math.sqrt(variance), min(float(len(logs)), LARGEST_DF), f"{len(logs)} A/A pairs")


def from_boots(groups: Sequence[Sequence[float]]) -> NoisePrior | None:
    """The noise of past production boots: one group per unchanged configuration, one summary per boot.

    The variance is pooled within groups, since between them something was changed on purpose, and doubled, since a
    ratio has two boots. None when no group has two boots.
    """
    usable = [[_log(value) for value in group] for group in groups if len(group) >= 2]
    if not usable:
        return None
    squares = math.fsum(_squares(logs) for logs in usable)
    df = sum(len(logs) - 1 for logs in usable)
    boots = sum(len(logs) for logs in usable)
    source = f"{boots} boots of {len(usable)} configuration{'s' if len(usable) > 1 else ''}"
    return NoisePrior(math.sqrt(2 * squares / df), _heterogeneity_df(usable, df), source)


def pooled(priors: Sequence[NoisePrior | None]) -> NoisePrior | None:
    """Several sources of one noise, weighted by their degrees of freedom. None when there is none."""
    known = [prior for prior in priors if prior is not None]
    if len(known) < 2:
        return known[0] if known else None
    df = math.fsum(prior.df for prior in known)
    variance = math.fsum(prior.df * prior.sd**2 for prior in known) / df
    return NoisePrior(math.sqrt(variance), min(df, LARGEST_DF), " and ".join(prior.source for prior in known))


def _heterogeneity_df(groups: Sequence[Sequence[float]], pooled_df: int) -> float:
    """Degrees of freedom of the pooled variance, fewer when the groups' variances disagree.

    Smyth's empirical Bayes (Stat. Appl. Genet. Mol. Biol. 3(1), 2004, section 6.2): the spread of log variances beyond
    what sampling explains, trigamma(df/2), tells how much configurations differ, and so how far a new trial's
    variance may lie from the pooled one. Groups without spread say nothing about this and are left out.
    """
    variances = [(_squares(logs) / (len(logs) - 1), len(logs) - 1) for logs in groups]
    spread = [(math.log(variance), df) for variance, df in variances if variance > 0]
    if len(spread) < 3:  # too few to tell disagreement from chance
        return min(float(pooled_df), LARGEST_DF)
    from scipy.special import digamma, polygamma  # noqa: PLC0415  # scipy is slow to import

    centred = [log - float(digamma(df / 2)) + math.log(df / 2) for log, df in spread]
    excess = _squares(centred) / (len(centred) - 1) - math.fsum(float(polygamma(1, df / 2)) for _, df in spread) / len(
        spread
    )
    if excess <= 0:
        return min(float(pooled_df), LARGEST_DF)
    return max(1.0, min(2 * _inverse_trigamma(excess), float(pooled_df), LARGEST_DF))


def _inverse_trigamma(value: float) -> float:
    """Solve trigamma(x) = value > 0 by bisection on the logarithm: trigamma falls monotonically."""
    from scipy.special import polygamma  # noqa: PLC0415  # scipy is slow to import

    low, high = 1e-6, 1e6
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if float(polygamma(1, middle)) > value else (low, middle)
    return math.sqrt(low * high)


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _log(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"noise is measured on finite figures above zero, not on {value}")
    return math.log(value)
