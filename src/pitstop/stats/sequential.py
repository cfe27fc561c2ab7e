"""Stopping a trial early for a win, a loss, an equivalence or futility, without paying with more wrong verdicts.

Error is spent as Lan and DeMets do (Biometrika 70, 1983) along O'Brien and Fleming's curve: almost nothing early,
almost all at the end. Each look's interval is widened to its own share, and the shares add up to 1 - confidence; by
the union bound all of a trial's intervals hold together with the stated confidence, however the looks depend on each
other and however few degrees of freedom they have. docs/adr/0041 gives what that costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pitstop.core.documents import Verdict
from pitstop.stats.noise import NoisePrior
from pitstop.stats.proportions import normal_quantile
from pitstop.stats.verdict import Block, Judgement, judge

# Below this chance that the blocks still planned bring any verdict, production's downtime buys nothing.
FUTILE = 0.05


@dataclass(frozen=True)
class Plan:
    """How many blocks a trial has at most, and after which of them it looks. Fixed before the first block."""

    blocks: int
    looks: tuple[int, ...]
    confidence: float = 0.95

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.looks, self.looks[1:], strict=False))
        if not (self.looks and rising and self.looks[0] >= 1 and self.looks[-1] == self.blocks):
            raise ValueError(f"looks rise from 1 to the last of {self.blocks} blocks, unlike {self.looks}")

    @classmethod
    def halfway(cls, blocks: int, *, confidence: float = 0.95) -> Plan:
        """Look once in the middle and at the end: the middle look costs 3 to 5 % of the final interval's width."""
        middle = math.ceil(blocks / 2)
        return cls(blocks, (middle, blocks) if middle < blocks else (blocks,), confidence)

    def confidence_at(self, look: int) -> float:
        """The confidence of the interval at the given number of blocks. ValueError where no look was planned."""
        position = self.looks.index(look)
        before = self._spent(self.looks[position - 1]) if position else 0.0
        return 1 - (self._spent(look) - before)

    def _spent(self, blocks: int) -> float:
        """Error spent when so many blocks are done: 2 - 2 Φ(z / sqrt(fraction))."""
        from scipy.special import ndtr  # noqa: PLC0415  # scipy is slow to import

        if blocks == self.blocks:
            return 1 - self.confidence
        z = normal_quantile((1 + self.confidence) / 2)
        return float(2 * ndtr(-z / math.sqrt(blocks / self.blocks)))


@dataclass(frozen=True)
class Look:
    """What a look says. `stop` is True at the last one, at a verdict, and when going on is futile."""

    judgement: Judgement
    stop: bool
    why: str


def look(
    blocks: Sequence[Block],
    plan: Plan,
    *,
    minimum_effect: float,
    higher_is_better: bool,
    noise: NoisePrior | None = None,
) -> Look | None:
    """Judge the blocks done so far; None where the plan does not look. Failed boots count as blocks done."""
    done = len(blocks)
    if done not in plan.looks:
        return None
    confidence = plan.confidence_at(done)
    judgement = judge(
        blocks, minimum_effect=minimum_effect, higher_is_better=higher_is_better, noise=noise, confidence=confidence
    )
    if done == plan.blocks:
        return Look(judgement, stop=True, why="all planned blocks are done")
    if judgement.verdict is not Verdict.UNDECIDED:
        return Look(judgement, stop=True, why=f"decided early: {judgement.verdict}")
    hope = _chance_to_decide(judgement, plan, done, math.log1p(minimum_effect))
    if hope is not None and hope < FUTILE:
        return Look(judgement, stop=True, why=f"futile: the blocks still planned would decide with {hope:.0%} chance")
    return Look(judgement, stop=False, why="undecided so far")


def _chance_to_decide(judgement: Judgement, plan: Plan, done: int, margin: float) -> float | None:
    """Predictive chance that the final interval excludes no difference or lies within the margin; None: unknown.

    Given what was seen, the final mean is normal about the present one with variance s²(1/n - 1/N).
    """
    if judgement.ratio is None or judgement.noise_floor is None or not judgement.blocks:
        return None
    from scipy.special import ndtr  # noqa: PLC0415  # scipy is slow to import

    n, sd = judgement.blocks, math.log1p(judgement.noise_floor)
    total = n + plan.blocks - done
    half = normal_quantile((1 + plan.confidence_at(plan.blocks)) / 2) * sd / math.sqrt(total)
    step = sd * math.sqrt(1 / n - 1 / total)
    mean = math.log(judgement.ratio)

    def above(limit: float) -> float:
        return float(ndtr((mean - limit) / step))

    excludes = above(half) + 1 - above(-half)
    within = max(0.0, above(-(margin - half)) - above(margin - half)) if margin > half else 0.0
    return min(1.0, excludes + within)
