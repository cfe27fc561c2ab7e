"""The marks of a run, task by task and attempt by attempt, and how two arms' marks are paired."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pitstop.stats.proportions import TaskPair, flakiness, normal_quantile

_COINS = 2
Mark = int | None  # 1 right, 0 not, None where it could not be judged


@dataclass(frozen=True)
class Sheet:
    """One run: `marks` by task, one per repeat; `replies` one digest per repeat, over all that was said in it."""

    marks: Mapping[str, Sequence[Mark]]
    replies: Sequence[str] = ()
    pass_s: float | None = None  # what asking every task once took


@dataclass(frozen=True)
class Tally:
    """All attempts of one arm at each task: how many right of how many. `copies` were left out as equal to others."""

    tasks: Mapping[str, tuple[int, int]]
    copies: int = 0

    @property
    def share(self) -> float | None:
        """The mean over tasks of the share that is right."""
        return math.fsum(right / of for right, of in self.tasks.values()) / len(self.tasks) if self.tasks else None


def tally(sheets: Sequence[Sheet]) -> Tally:
    """Everything that one arm said, each draw once.

    Repeats whose replies are all equal, to the last character, are one draw: some engines draw the same in every boot
    (vLLM, whose seed is 0 unless told), and counting a copy as further evidence would make certain what is chance.
    """
    seen: set[str] = set()
    counts: dict[str, tuple[int, int]] = {}
    copies = 0
    for sheet in sheets:
        for repeat in range(max(map(len, sheet.marks.values()), default=0)):
            said = sheet.replies[repeat] if repeat < len(sheet.replies) else ""
            if said and said in seen:
                copies += 1
                continue
            seen.add(said)
            _add(counts, sheet, repeat)
    return Tally(counts, copies)


def _add(counts: dict[str, tuple[int, int]], sheet: Sheet, repeat: int) -> None:
    for task, marks in sheet.marks.items():
        mark = marks[repeat] if repeat < len(marks) else None
        if mark is not None:
            right, of = counts.get(task, (0, 0))
            counts[task] = (right + mark, of + 1)


def pairs(production: Tally, variant: Tally) -> list[TaskPair]:
    """The tasks that both arms have answered, in production's order."""
    both = [task for task in production.tasks if task in variant.tasks]
    return [TaskPair(*production.tasks[task], *variant.tasks[task]) for task in both]


def attempts(tasks: Sequence[TaskPair]) -> int:
    """How many tasks asked once tell as much: each attempt of one arm at a task has one of the other to be paired with.

    Where the arms have m and n attempts, their harmonic mean, as the variance of a difference has it.
    """
    pairs = (2 / (1 / task.production_runs + 1 / task.variant_runs) for task in tasks)
    return math.floor(math.fsum(pairs) + 1e-9)


def repeated_interval(tasks: Sequence[TaskPair], *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Interval of the mean difference on these very tasks, from the spread of their repeats; None without repeats.

    The other one (`difference_interval`) asks about tasks drawn at random, and stays wide however often they are asked.
    Variances are unbiased, and two tasks that are coins are added to them (Agresti and Min add two, asked once): five
    right of five are not certainty, nor are 28 steady tasks as noisy as if each were a little flaky.
    """
    if not tasks or any(min(task.production_runs, task.variant_runs) < 2 for task in tasks):
        return None
    n = len(tasks)
    mean = math.fsum(task.difference for task in tasks) / n
    seen = math.fsum(
        _variance(task.production, task.production_runs) + _variance(task.variant, task.variant_runs) for task in tasks
    )
    coin = math.fsum(0.25 / task.production_runs + 0.25 / task.variant_runs for task in tasks) / n
    half = normal_quantile((1 + confidence) / 2) * math.sqrt(seen + _COINS * coin) / n
    return (max(-1.0, mean - half), min(1.0, mean + half))


def _variance(right: int, of: int) -> float:
    """Of the share right, unbiased."""
    return right * (of - right) / (of**2 * (of - 1))


def flips_seen(*tallies: Tally) -> float | None:
    """The share of tasks that turn each way between two attempts of one engine; None without repeats."""
    known = [flakiness(right, of) for one in tallies for right, of in one.tasks.values()]
    told = [value for value in known if value is not None]
    return math.fsum(told) / len(told) / 2 if told else None


def flips_from_noise(sd: float, share: float, attempts: int) -> float:
    """The same, from the spread of log(score / score) between runs of one engine, which the ledger keeps.

    A difference of two scores of n attempts, of which a share f turns each way, has variance 2·f/n; and a score near
    `share` whose logarithm spreads by sd spreads by share·sd.
    """
    return min(0.5, attempts * (sd * share) ** 2 / 2)
