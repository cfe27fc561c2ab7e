"""The figures of the quality ruler, and the marks in the score's detail by which two runs are compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.core.config.quality import Quality as Wanted
from pitstop.core.documents import Figure, Status, TaskRecord
from pitstop.rulers.quality.outcome import Outcome
from pitstop.rulers.quality.task import Kind, Level, digest
from pitstop.rulers.quality.task_set import TaskSet
from pitstop.stats.proportions import flakiness, pass_at_k, wilson
from pitstop.stats.scores import smallest_difference

SOURCE = "computed answers, hidden tests, expected calls"
_NEITHER = frozenset({Outcome.UNAVAILABLE})


def no_tasks(name: str) -> Figure:
    """For a run whose cases leave no task."""
    return _unavailable("all", "score", f"no task of {name} fits the cases that were asked for")


def score_figures(drawn: TaskSet, records: Sequence[TaskRecord], wanted: Wanted) -> list[Figure]:
    """The score of all tasks (the figure that is judged), then what explains it."""
    graded = [one for one in records if one.outcome not in _NEITHER]
    kinds = [_share(kind, [one for one in records if one.task.startswith(f"{kind}/")]) for kind in Kind]
    levels = [_share(level, [one for one in records if one.level == level]) for level in Level]
    told = [outcome for outcome in Outcome if outcome not in (Outcome.RIGHT, *_NEITHER)] if graded else []
    outcomes = [_outcome(outcome, graded) for outcome in told]
    return [_score(drawn, records, wanted), *filter(None, [*kinds, *levels]), *outcomes]


def _score(drawn: TaskSet, records: Sequence[TaskRecord], wanted: Wanted) -> Figure:
    marks = marks_of(records)
    missing = sorted({one.task for one in records if one.outcome == Outcome.UNAVAILABLE})
    detail = _detail(drawn, records, marks, wanted)
    if not _known(marks):
        return _unavailable("all", "score", _why_missing(records, missing), detail)
    doubt = f"{len(missing)} of {len(drawn.instances)} tasks are unavailable: {_why_missing(records, missing)}"
    return _figure("all", "score", _known(marks), detail, doubt if missing else "")


def _detail(
    drawn: TaskSet, records: Sequence[TaskRecord], marks: Mapping[str, list[int | None]], wanted: Wanted
) -> dict[str, Any]:
    known = _known(marks)
    flaky = [value for values in known.values() if (value := flakiness(sum(values), len(values))) is not None]
    times = [one.e2e_s for one in records if one.e2e_s is not None]
    flips = math.fsum(flaky) / len(flaky) / 2 if flaky else 0.0
    return {
        "set": drawn.name,
        "right": sum(map(sum, known.values())),
        "attempts": sum(map(len, known.values())),
        "tasks": len(drawn.instances),
        "repeats": wanted.repeats,
        "marks": marks,
        "replies": _replies(records),
        "pass_s": math.fsum(times) / wanted.repeats / wanted.parallel if times else None,
        "flakiness": {task: round(value, 4) for task, values in known.items()
                      if (value := flakiness(sum(values), len(values)))},
        "pass_at": _pass_at(known),
        "smallest_difference_tasks": _reach(known, flips),
    }  # fmt: skip


def marks_of(records: Sequence[TaskRecord]) -> dict[str, list[int | None]]:
    """By task, attempt by attempt: 1 right, 0 not, None where it could not be judged."""
    marks: dict[str, list[int | None]] = {}
    for one in sorted(records, key=lambda one: one.repeat):
        mark = None if one.outcome in _NEITHER else int(one.outcome == Outcome.RIGHT)
        marks.setdefault(one.task, []).append(mark)
    return marks


def _known(marks: Mapping[str, Sequence[int | None]]) -> dict[str, list[int]]:
    known = {task: [mark for mark in values if mark is not None] for task, values in marks.items()}
    return {task: values for task, values in known.items() if values}


def _replies(records: Sequence[TaskRecord]) -> list[str]:
    """One digest a repeat, over all of its replies: repeats with equal ones are one draw."""
    repeats: dict[int, list[str]] = {}
    for one in sorted(records, key=lambda one: (one.repeat, one.task)):
        repeats.setdefault(one.repeat, []).append(f"{one.task} {one.reply_digest}")
    return [digest(*replies) for _, replies in sorted(repeats.items())]


def _pass_at(known: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Mean over tasks of the chance that one of k attempts is right, for every k that all tasks have."""
    most = min(map(len, known.values()), default=0)
    return {
        str(k): math.fsum(pass_at_k(sum(values), len(values), k) for values in known.values()) / len(known)
        for k in range(1, most + 1)
    }


def _reach(known: Mapping[str, Sequence[int]], flips: float) -> int | None:
    """The smallest true difference, in tasks, that a pair of such runs shows at 80 % power; every attempt counts."""
    shown = smallest_difference(sum(map(len, known.values())), flips=min(flips, 0.4))
    return None if shown is None else math.ceil(shown * len(known) - 1e-9)


def _share(case: str, some: Sequence[TaskRecord]) -> Figure | None:
    if not some:
        return None
    known = _known(marks_of(some))
    missing = sorted({one.task for one in some if one.outcome == Outcome.UNAVAILABLE})
    if not known:
        return _unavailable(case, "right_share", _why_missing(some, missing))
    detail = {"right": sum(map(sum, known.values())), "attempts": sum(map(len, known.values())), "tasks": len(known)}
    return _figure(case, "right_share", known, detail, f"{len(missing)} tasks are unavailable" if missing else "")


def _outcome(outcome: Outcome, graded: Sequence[TaskRecord]) -> Figure:
    """How often it came to this; 0 counts too, for a boot in which it never did stands beside others."""
    count = sum(one.outcome == outcome for one in graded)
    detail = {"count": count, "attempts": len(graded)}
    metric = f"{outcome.value.replace('-', '_')}_share"
    return Figure(
        ruler="quality", case="all", metric=metric, unit="fraction", value=count / len(graded), status=Status.OK,
        source=SOURCE, n=len(graded), interval=wilson(count, len(graded)), detail=detail,
    )  # fmt: skip


def _figure(case: str, metric: str, known: Mapping[str, Sequence[int]], detail: dict[str, Any], doubt: str) -> Figure:
    """The mean over tasks. Wilson's interval counts tasks, not attempts: repeats of one task hang together."""
    shares = [sum(values) / len(values) for values in known.values()]
    value = math.fsum(shares) / len(shares)
    return Figure(
        ruler="quality", case=case, metric=metric, unit="fraction", value=value,
        status=Status.UNVERIFIED if doubt else Status.OK, source=SOURCE, reason=doubt, n=len(shares),
        interval=wilson(min(math.fsum(shares), len(shares)), len(shares)), detail=detail,
    )  # fmt: skip


def _unavailable(case: str, metric: str, reason: str, detail: dict[str, Any] | None = None) -> Figure:
    return Figure(
        ruler="quality", case=case, metric=metric, unit="fraction", value=None, status=Status.UNAVAILABLE,
        source=SOURCE, reason=reason, detail=detail or {},
    )  # fmt: skip


def _why_missing(records: Sequence[TaskRecord], missing: Sequence[str]) -> str:
    reasons = dict.fromkeys(one.reason for one in records if one.task in missing)
    return next(iter(reasons), "no task was answered")
