"""Why two scores are judged as they are, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pitstop.core.documents import Verdict
from pitstop.stats.proportions import TaskPair
from pitstop.stats.sheets import attempts


def reason_of(
    verdict: Verdict,
    tasks: Sequence[TaskPair],
    p_value: float,
    shown: float | None,
    needed: int | None,
    *,
    significant: bool,
) -> str:
    """A sentence without a full stop: what was seen, whether it is chance, and how much more would show it.

    `shown` is the smallest difference that so many attempts show, as a share; `needed` how many tasks asked once would
    show what was seen.
    """
    seen = _seen(tasks, p_value)
    if verdict is not Verdict.UNDECIDED:
        return f"{seen} {'lies within the minimum effect' if verdict is Verdict.EQUIVALENT else 'is more than chance'}"
    n = len(tasks)
    reach = "no difference at all" if shown is None else f"only differences from {_tasks(shown * n)} on"
    more = f"; about {needed} tasks, or {math.ceil(needed / n)} repeats of these, would show this one" if needed else ""
    what = "is at the edge of what chance does" if significant else "is within what chance does"
    return f"{seen} {what}: {_asked(tasks)} show {reach}{more}"


def _seen(tasks: Sequence[TaskPair], p_value: float) -> str:
    variant = math.fsum(task.variant / task.variant_runs for task in tasks)
    production = math.fsum(task.production / task.production_runs for task in tasks)
    chance = f"p = {p_value:.2f}" if p_value >= 0.005 else "p < 0.01"
    return f"{_right(variant)} against {_right(production)} of {len(tasks)} ({chance})"


def _right(count: float) -> str:
    """`12.3`, and from a hundred on `1319`: three digits of so many tasks would round some of them away."""
    return f"{count:.3g}" if count < 99.95 else f"{count:.1f}".removesuffix(".0")


def _asked(tasks: Sequence[TaskPair]) -> str:
    """`28 tasks`, or `28 tasks with 4 attempts each`; a mean where arms or tasks differ."""
    mean = attempts(tasks) / len(tasks)
    return _tasks(len(tasks)) if mean <= 1 else f"{_tasks(len(tasks))} with {mean:.3g} attempts each"


def _tasks(count: float) -> str:
    whole = math.ceil(count)
    return "1 task" if whole == 1 else f"{whole} tasks"
