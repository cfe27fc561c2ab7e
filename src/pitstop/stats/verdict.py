"""One figure of one variant against production: better, worse, equivalent, or undecided.

A block is one boot of production and one of the variant, each with one number for the figure (the median of its
requests). The boot is the random unit: its KV pool, clocks and page cache are drawn once, so a thousand requests in one
boot are still one boot. docs/verdicts.md works an example by hand; docs/adr/0040 says why the variance is moderated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pitstop.core.documents import Verdict
from pitstop.stats.noise import NoisePrior

# (production, variant); None where that boot gave no figure: it failed, was stopped by the guard, or was invalid.
Block = tuple[float | None, float | None]

# The smallest spread of a block's log ratio that is believed. The rulers themselves are right to 0.5 % (benchmarks/),
# so blocks that agree better than that, or to the last digit, agree by rounding and not by knowledge.
RESOLUTION = 0.005

# A spread in the trial that the ledger's noise would produce less than once in a hundred trials: the box has changed,
# and the prior is set aside rather than averaged in.
PRIOR_CONTRADICTED = 0.01

_LOOK_AHEAD = 1000  # blocks; beyond that nobody waits
_POWER = 0.8


@dataclass(frozen=True)
class Judgement:
    """A verdict with what it rests on. Ratios are variant over production, whichever direction is good."""

    verdict: Verdict
    ratio: float | None
    interval: tuple[float, float] | None
    noise_floor: float | None  # sd of the ratio of two boots as a fraction; None when nothing is known of it
    p_value: float | None  # two-sided, of no difference at all
    blocks: int  # that entered the interval
    reason: str
    blocks_to_decide: int | None = None  # further ones, at 80 % power, if what was seen is true; None: not foreseeable


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
        return _undecided(refused, blocks=0)
    logs = [math.log(variant) - math.log(base) for base, variant in blocks if base is not None and variant is not None]
    failures = _Failures(sum(base is None for base, _ in blocks), sum(variant is None for _, variant in blocks))
    if not logs:
        return failures.of_everything(len(blocks))
    spread = _spread(logs, noise, resolution)
    if spread is None:
        return _undecided(_ONE_BLOCK, blocks=1, ratio=_ratio(logs[0]))
    return failures.weigh(_judge_logs(logs, spread, math.log1p(minimum_effect), higher_is_better, confidence))


@dataclass(frozen=True)
class _Spread:
    """The standard deviation of one block's log ratio, with its degrees of freedom."""

    sd: float
    df: float
    note: str = ""

    def half_width(self, blocks: int, further: int, tail: float) -> float:
        from scipy.special import stdtrit  # noqa: PLC0415  # scipy is slow to import

        return float(stdtrit(self.df + further, tail)) * self.sd / math.sqrt(blocks + further)


def _spread(logs: Sequence[float], noise: NoisePrior | None, resolution: float) -> _Spread | None:
    """Moderated spread: s² = (d0·s0² + d·s²)/(d0 + d). None when neither the blocks nor the ledger know one."""
    df = len(logs) - 1
    mean = math.fsum(logs) / len(logs)
    variance = math.fsum((x - mean) ** 2 for x in logs) / df if df else 0.0
    if noise is None:
        return _Spread(max(math.sqrt(variance), resolution), df) if df else None
    known = max(noise.sd, resolution) ** 2
    if df and _contradicts(variance / known, df, noise.df):
        return _Spread(
            math.sqrt(variance), df, "; the blocks differ more than this box's recorded noise, which was set aside"
        )
    moderated = (noise.df * known + df * variance) / (noise.df + df)
    source = f"; noise known from {noise.source}" if noise.source else ""
    return _Spread(max(math.sqrt(moderated), resolution), noise.df + df, source)


def _contradicts(f_ratio: float, df: float, prior_df: float) -> bool:
    from scipy.special import fdtrc  # noqa: PLC0415  # scipy is slow to import

    return float(fdtrc(df, prior_df, f_ratio)) < PRIOR_CONTRADICTED


def _judge_logs(
    logs: Sequence[float], spread: _Spread, margin: float, higher_is_better: bool, confidence: float
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
        ratio=_ratio(mean),
        interval=(_ratio(low), _ratio(high)),
        noise_floor=_ratio(spread.sd) - 1,
        p_value=float(2 * stdtr(spread.df, -abs(mean) * math.sqrt(n) / spread.sd)),
        blocks=n,
        reason=_words(verdict, (low, mean, high), margin, n, more) + spread.note,
        blocks_to_decide=more,
    )


def _verdict(low: float, high: float, margin: float, higher_is_better: bool) -> Verdict:
    if -margin <= low and high <= margin:
        return Verdict.EQUIVALENT
    if low <= 0 <= high:
        return Verdict.UNDECIDED
    return Verdict.BETTER if (low > 0) == higher_is_better else Verdict.WORSE


def _blocks_to_decide(n: int, mean: float, spread: _Spread, margin: float, tail: float) -> int | None:
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


def _words(verdict: Verdict, effect: tuple[float, float, float], margin: float, blocks: int, more: int | None) -> str:
    low, mean, high = (_percent(x) for x in effect)
    seen = f"{mean} ({low} to {high}, {blocks} block{'s' if blocks != 1 else ''})"
    limit = _percent(margin)[1:]
    if verdict is Verdict.EQUIVALENT:
        return f"{seen} lies within ±{limit}"
    if verdict is Verdict.UNDECIDED:
        wait = f"about {more} more would decide" if more else "more blocks of this kind would not decide it soon"
        return f"{seen} reaches across no difference and beyond ±{limit}; {wait}"
    certain = min(abs(effect[0]), abs(effect[2])) >= margin
    return f"{seen} excludes no difference" + ("" if certain else f", but may be less than {limit}")


@dataclass(frozen=True)
class _Failures:
    """Boots that gave no figure. They are results of their arm: survivors alone may not speak for it."""

    production: int
    variant: int

    def weigh(self, judgement: Judgement) -> Judgement:
        """Hold back a verdict that the survivors give in favour of the arm that failed more often."""
        if self.production == self.variant == 0:
            return judgement
        text = f"{judgement.reason}; {self._words()}"
        favoured = Verdict.BETTER if self.variant > self.production else Verdict.WORSE
        held_back = self.variant != self.production and judgement.verdict in (favoured, Verdict.EQUIVALENT)
        if not held_back:
            return replace(judgement, reason=text)
        return replace(
            judgement, verdict=Verdict.UNDECIDED, reason=f"{text}, so what the rest showed cannot count for that arm"
        )

    def of_everything(self, blocks: int) -> Judgement:
        """No block has both figures. Twice or more without one figure, where the other arm always had one, decides."""
        if blocks >= 2 and blocks in (self.production, self.variant) and 0 in (self.production, self.variant):
            verdict = Verdict.WORSE if self.variant else Verdict.BETTER
            return replace(_undecided(self._words(), blocks=0), verdict=verdict)
        return _undecided(self._words() if blocks else "nothing was measured", blocks=0)

    def _words(self) -> str:
        return f"boots without a figure: {self.variant} of the variant, {self.production} of production"


def _undecided(reason: str, *, blocks: int, ratio: float | None = None) -> Judgement:
    return Judgement(Verdict.UNDECIDED, ratio, None, None, None, blocks, reason)


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


def _ratio(log: float) -> float:
    return math.exp(max(-700.0, min(700.0, log)))  # a float ends near exp(709)


def _percent(log: float) -> str:
    return f"{(_ratio(log) - 1) * 100:+.1f} %"
