"""Scores of a task set: how sure one is, whether two differ, and what so few tasks could have shown at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TaskPair:
    """One task, answered by both arms: how many of how many attempts were right."""

    production: int
    production_runs: int
    variant: int
    variant_runs: int

    def __post_init__(self) -> None:
        for right, runs in ((self.production, self.production_runs), (self.variant, self.variant_runs)):
            if not (0 <= right <= runs and runs >= 1):
                raise ValueError(f"{right} right answers of {runs} attempts cannot be")

    @property
    def difference(self) -> float:
        """Share right of the variant minus that of production."""
        return self.variant / self.variant_runs - self.production / self.production_runs


def wilson(successes: float, n: int, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval for a share (J. Am. Stat. Assoc. 22, 1927); None when nothing was tried.

    `successes` may be a mean over repeats, as 25.5 of 28 tasks.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes:g} successes of {n} cannot be")
    if n == 0:
        return None
    z = normal_quantile((1 + confidence) / 2)
    share, weight = successes / n, z * z / n
    centre = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / n + weight / (4 * n)) / (1 + weight)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return (low, 1.0 if successes == n else min(1.0, centre + half))


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p of no difference from the tasks that only one arm got right; 1 when there is none."""
    from scipy.special import bdtr  # noqa: PLC0415  # scipy is slow to import

    n = only_first + only_second
    if min(only_first, only_second) < 0:
        raise ValueError(f"{only_first} and {only_second} discordant tasks cannot be")
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), n, 0.5))) if n else 1.0


def exact_test(tasks: Sequence[TaskPair]) -> float:
    """Exact two-sided p of no difference on any task, for any mix of repeats; McNemar's where each was asked once.

    Given how many attempts at a task were right in all, each way of sharing them between the arms is equally likely if
    the arms do not differ (hypergeometric); the sums over tasks are convolved, and the smaller tail is doubled.
    """
    import numpy as np  # noqa: PLC0415  # slow to import

    distribution, observed = np.ones(1), 0
    for task in tasks:
        ways, lowest = _shares_of_variant(task)
        distribution = np.convolve(distribution, np.array(ways))
        observed += task.variant - lowest
    at_most, at_least = float(distribution[: observed + 1].sum()), float(distribution[observed:].sum())
    return min(1.0, 2 * min(at_most, at_least))


def pass_at_k(right: int, n: int, k: int) -> float:
    """Chance that one of k attempts is right, unbiased from n >= k (Chen et al. 2021, arXiv:2107.03374)."""
    if not (0 <= right <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} cannot be told from {right} right of {n} attempts")
    return 1 - math.comb(n - right, k) / math.comb(n, k)


def flakiness(right: int, n: int) -> float | None:
    """Chance that two further attempts at a task differ, unbiased: 0 is steady, 1/2 a coin. None from one attempt."""
    if not 0 <= right <= n:
        raise ValueError(f"{right} right answers of {n} attempts cannot be")
    return None if n < 2 else 2 * right * (n - right) / (n * (n - 1))


def normal_quantile(share: float) -> float:
    from scipy.special import ndtri  # noqa: PLC0415  # scipy is slow to import

    return float(ndtri(share))


def _shares_of_variant(task: TaskPair) -> tuple[list[float], int]:
    """Probability of each possible count of the variant's right answers, and the lowest such count."""
    right, runs = task.production + task.variant, task.production_runs + task.variant_runs
    lowest, highest = max(0, right - task.production_runs), min(task.variant_runs, right)
    whole = math.comb(runs, right)
    ways = [
        math.comb(task.variant_runs, count) * math.comb(task.production_runs, right - count) / whole
        for count in range(lowest, highest + 1)
    ]
    return ways, lowest
