"""One figure of one variant against production: better, worse, equivalent, or undecided.

A block is one boot of production and one of the variant, each with one number for the figure (the median of its
requests). The boot is the random unit: its KV pool, clocks and page cache are drawn once, so a thousand requests in one
boot are still one boot. docs/verdicts.md works an example by hand; docs/adr/0040 says why the variance is moderated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pitstop.core.documents import Verdict
from pitstop.stats.failures import Failures
from pitstop.stats.judgement import Judgement, ratio_of, undecided, words
from pitstop.stats.noise import NoisePrior
from pitstop.stats.spread import RESOLUTION, Spread, moderated

__all__ = ["RESOLUTION", "Block", "Judgement", "judge"]

# (production, variant); None where that boot gave no figure: it failed, was stopped by the guard, or was invalid.
Block = tuple[float | None, float | None]

_LOOK_AHEAD = 1000  # blocks; beyond that nobody waits
_POWER = 0.8


def judge(
    blocks: Sequence[Block],
    *,
    minimum_effect: float,
    higher_is_better: bool,
    noise: NoisePrior | None = None,
    confidence: float = 0.95,
    resolution: float = RESOLUTION,
) -> Judgement:
    """Compare two arms block by block on the log of the ratio, as the design's "How a verdict is made" says.

    With δ = `minimum_effect` (a fraction), **equivalent**: the interval lies within 1/(1+δ) … 1+δ; **better** or
    **worse**: it excludes one and does not lie within; **undecided** otherwise. Values that have no ratio (zero,
    negative, not finite) make the figure undecided and are named in the reason. ValueError for impossible settings.
    """
    _check_settings(minimum_effect, confidence, resolution)
    refused = _refused(blocks)
    if refused:
        return undecided(refused, blocks=0)
    logs = [math.log(variant) - math.log(base) for base, variant in blocks if base is not None and variant is not None]
    failures = Failures(sum(base is None for base, _ in blocks), sum(variant is None for _, variant in blocks))
    if not logs:
        return failures.of_everything(len(blocks))
    spread = moderated(logs, noise, resolution)
    if spread is None:
        return failures.weigh(undecided(_ONE_BLOCK, blocks=1, ratio=ratio_of(logs[0])))
    return failures.weigh(_judge_logs(logs, spread, math.log1p(minimum_effect), higher_is_better, confidence))


def _judge_logs(
    logs: Sequence[float], spread: Spread, margin: float, higher_is_better: bool, confidence: float
) -> Judgement:
    from scipy.special import stdtr  # noqa: PLC0415  # scipy is slow to import

    n, tail = len(logs), (1 + confidence) / 2
    mean = math.fsum(logs) / n
    half = spread.half_width(n, 0, tail)
    low, high = mean - half, mean + half
    verdict = _verdict(low, high, margin, higher_is_better)
    more = _blocks_to_decide(n, mean, spread, margin, tail) if verdict is Verdict.UNDECIDED else None
    return Judgement(
        verdict=verdict,
        ratio=ratio_of(mean),
        interval=(ratio_of(low), ratio_of(high)),
        noise_floor=ratio_of(spread.sd) - 1,
        p_value=float(2 * stdtr(spread.df, -abs(mean) * math.sqrt(n) / spread.sd)),
        blocks=n,
        reason=words(verdict, (low, mean, high), margin, n, more) + spread.note,
        blocks_to_decide=more,
    )


def _verdict(low: float, high: float, margin: float, higher_is_better: bool) -> Verdict:
    if -margin <= low and high <= margin:
        return Verdict.EQUIVALENT
    if low <= 0 <= high:
        return Verdict.UNDECIDED
    return Verdict.BETTER if (low > 0) == higher_is_better else Verdict.WORSE


def _blocks_to_decide(n: int, mean: float, spread: Spread, margin: float, tail: float) -> int | None:
    """Further blocks after which the interval excludes one, or lies within the margin, with 80 % probability."""
    room = max(abs(mean), margin - abs(mean))
    for further in range(1, _LOOK_AHEAD + 1):
        if spread.half_width(n, further, tail) + spread.half_width(n, further, _POWER) <= room:
            return further
    return None


_ONE_BLOCK = (
    "one block has no spread, and the ledger knows nothing of this box's boot-to-boot noise; "
    "run at least two blocks, or an A/A trial first"
)


def _refused(blocks: Sequence[Block]) -> str:
    for number, block in enumerate(blocks, 1):
        for arm, value in zip(("production", "the variant"), block, strict=True):
            if value is not None and not (math.isfinite(value) and value > 0):
                return f"block {number}: {arm} has {value:g}, and a ratio needs finite numbers above zero"
    return ""


def _check_settings(minimum_effect: float, confidence: float, resolution: float) -> None:
    if not (math.isfinite(minimum_effect) and minimum_effect >= 0):
        raise ValueError(f"the minimum effect is a fraction of zero or more, not {minimum_effect}")
    if not 0.5 < confidence < 1:
        raise ValueError(f"the confidence lies between 0.5 and 1, not at {confidence}")
    if not (math.isfinite(resolution) and resolution > 0):
        raise ValueError(f"the resolution is a fraction above zero, not {resolution}")
