"""Two scores on the same tasks: better, worse, equivalent or undecided, and what would decide.

Differences are in shares of the set: 3 of 28 tasks are 0.107. `flips` is the share of tasks that turn from right to
wrong between two runs of one engine, and as many back: half the mean flakiness, or half the discordant share of an
A/A pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pitstop.core.documents import Verdict
from pitstop.stats.proportions import TaskPair, exact_test, normal_quantile
from pitstop.stats.score_reasons import reason_of
from pitstop.stats.sheets import attempts, repeated_interval

_POWER = 0.8
_MOST_TASKS = 100_000


@dataclass(frozen=True)
class ScoreJudgement:
    """`difference` is variant minus production; `smallest_shown` what so many attempts show at 80 % power."""

    verdict: Verdict
    difference: float | None
    interval: tuple[float, float] | None
    p_value: float | None
    smallest_shown: float | None
    tasks_to_decide: int | None  # asked once, in all, at 80 % power, if the difference is what was seen
    reason: str
    repeats_to_decide: int | None = None  # of these tasks instead, in all


def judge_scores(
    tasks: Sequence[TaskPair], *, minimum_effect: float, flips: float | None = None, confidence: float = 0.95
) -> ScoreJudgement:
    """Compare two arms that answered the same tasks.

    Better or worse: the exact test says p < 1 - confidence, and the interval holds no zero and does not lie within
    ±`minimum_effect` (in shares); equivalent: it does; undecided otherwise. The interval is that of these very tasks
    where they were repeated. `flips` defaults to what the discordant tasks here suggest.
    """
    if not tasks:
        return ScoreJudgement(Verdict.UNDECIDED, None, None, None, None, None, "no task was answered by both arms")
    n = len(tasks)
    difference = math.fsum(task.difference for task in tasks) / n
    interval = repeated_interval(tasks, confidence=confidence) or difference_interval(tasks, confidence=confidence)
    p_value, asked = exact_test(tasks), attempts(tasks)
    flips = _flips(tasks) if flips is None else flips
    shown = smallest_difference(asked, flips=flips, confidence=confidence)
    verdict = _verdict(difference, interval, p_value, minimum_effect, confidence)
    needed = tasks_needed(difference, flips=flips, confidence=confidence) if verdict is Verdict.UNDECIDED else None
    needed = None if needed is None else max(needed, asked + 1)  # so many have just not decided it
    repeats = None if needed is None else math.ceil(needed / n)
    reason = reason_of(verdict, tasks, p_value, shown, needed, significant=p_value < 1 - confidence)
    return ScoreJudgement(verdict, difference, interval, p_value, shown, needed, reason, repeats)


def difference_interval(tasks: Sequence[TaskPair], *, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of the mean difference over tasks drawn at random, with Agresti and Min's two pseudo-tasks.

    (Stat. Med. 24, 2005: one half added to each cell of the paired table.) It never closes to nothing: 28 tasks without
    a single difference still leave ±6.5 points.
    """
    n = len(tasks) + 2
    mean = math.fsum(task.difference for task in tasks) / n
    square = (math.fsum(task.difference**2 for task in tasks) + 1) / n
    half = normal_quantile((1 + confidence) / 2) * math.sqrt(max(0.0, square - mean * mean) / n)
    return (max(-1.0, mean - half), min(1.0, mean + half))


def smallest_difference(
    n: int, *, flips: float = 0.0, wanted: float = _POWER, confidence: float = 0.95
) -> float | None:
    """The smallest true difference that McNemar's exact test on n tasks finds with the `wanted` power; None: none."""
    low, high = 0.0, 1.0 - 2 * flips
    if n < 1 or mcnemar_power(n, high, flips=flips, confidence=confidence) < wanted:
        return None
    for _ in range(20):  # to a millionth
        middle = (low + high) / 2
        found = mcnemar_power(n, middle, flips=flips, confidence=confidence) >= wanted
        low, high = (low, middle) if found else (middle, high)
    return high


def mcnemar_power(n: int, difference: float, *, flips: float = 0.0, confidence: float = 0.95) -> float:
    """Exact power on n tasks when `flips + difference` of them turn one way and `flips` the other."""
    if not (0 <= flips <= 0.5 and 0 <= difference <= 1 - 2 * flips + 1e-9):
        raise ValueError(f"a difference of {difference} with {flips} flips each way is more than all tasks")
    import numpy as np  # noqa: PLC0415  # slow to import
    from scipy.special import bdtr, gammaln, xlogy  # noqa: PLC0415

    moved = min(1.0, difference + 2 * flips)
    if not moved:
        return 0.0
    m = np.arange(n + 1)
    log_share = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) + xlogy(m, moved) + xlogy(n - m, 1 - moved)
    limit = np.array(_largest_significant(n, 1 - confidence))
    tails = bdtr(np.maximum(limit, 0), m, flips / moved) + bdtr(np.maximum(limit, 0), m, 1 - flips / moved)
    return float(np.sum(np.exp(log_share) * np.where(limit >= 0, tails, 0.0)))


@lru_cache(maxsize=64)
def _largest_significant(n: int, alpha: float) -> tuple[int, ...]:
    """For 0 to n discordant tasks the largest count on the rarer side with p <= alpha; -1 where not even none has."""
    from scipy.special import bdtr  # noqa: PLC0415  # scipy is slow to import

    limits, count = [], -1
    for m in range(n + 1):
        while 2 * bdtr(count + 1, m, 0.5) <= alpha:
            count += 1
        limits.append(count)
    return tuple(limits)


def tasks_needed(
    difference: float, *, flips: float = 0.0, wanted: float = _POWER, confidence: float = 0.95
) -> int | None:
    """About how many tasks show this difference (Connor, Biometrics 43, 1987); None: too small for any set."""
    effect = abs(difference)
    if not effect:
        return None
    moved = min(1.0, effect + 2 * flips)
    a, b = normal_quantile((1 + confidence) / 2), normal_quantile(wanted)
    n = math.ceil(((a * math.sqrt(moved) + b * math.sqrt(max(0.0, moved - effect**2))) / effect) ** 2)
    return n if n <= _MOST_TASKS else None


def _flips(tasks: Sequence[TaskPair]) -> float:
    """Share of tasks that turned against the trend: what would also turn between two runs of one engine."""
    up = math.fsum(max(0.0, task.difference) for task in tasks)
    down = math.fsum(max(0.0, -task.difference) for task in tasks)
    return min(up, down) / len(tasks)


def _verdict(
    difference: float, interval: tuple[float, float], p_value: float, minimum_effect: float, confidence: float
) -> Verdict:
    if -minimum_effect <= interval[0] and interval[1] <= minimum_effect:
        return Verdict.EQUIVALENT
    if p_value >= 1 - confidence or interval[0] <= 0 <= interval[1]:
        return Verdict.UNDECIDED
    return Verdict.BETTER if difference > 0 else Verdict.WORSE
