"""From figures to plots: which picture shows which ruler, for one run and for the arms of a trial alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from markupsafe import Markup

from pitstop.core.documents import Figure, RunDocument, Status
from pitstop.report.budgets import RULER, trades
from pitstop.report.labels import metric_title, row_label
from pitstop.report.numbers import finite
from pitstop.report.plots.bars import Bar, share_bars
from pitstop.report.plots.curves import Curve, curves
from pitstop.report.plots.dots import DotRow, dot_rows
from pitstop.report.plots.frame import Size
from pitstop.report.plots.frontier import frontier
from pitstop.report.plots.scale import plottable
from pitstop.report.quiet import key_of, never_happened
from pitstop.report.sheet import Plot

Key = tuple[str, str]  # ruler, metric
_DOTS = "Every dot is one sample, the bar is the median."
_BOUNDS = " A shaded box says how far the way of counting leaves the value open."
# What explains a figure is in the tables; the pictures show what is asked for.
_EXPLAINING = frozenset({"decode_tok_s_seed", "tokens_per_event", "ttfr_s", "knee_streams"})
_SPECULATION = frozenset({"acceptance_rate", "acceptance_length"})  # shown by the ruler that is about it
_MOST_ROWS = 60  # beyond that a picture says nothing that the table does not


@dataclass(frozen=True)
class Arm:
    """The figures of one arm over all its boots, or of a run on its own (then `name` is empty)."""

    name: str
    figures: Sequence[Figure]


def arms_of(runs: Iterable[tuple[str, RunDocument]]) -> list[Arm]:
    """Runs gathered by the name of their arm."""
    gathered: dict[str, list[Figure]] = {}
    for name, run in runs:
        gathered.setdefault(name, []).extend(run.figures)
    return [Arm(name, figures) for name, figures in gathered.items()]


def figure_plots(arms: Sequence[Arm], settings: Mapping[str, Any]) -> list[Plot]:
    """One plot per ruler and metric that has something to show, in the order of measuring."""
    quiet = never_happened(figure for arm in arms for figure in arm.figures)
    told = (figure for arm in arms for figure in arm.figures if key_of(figure) not in quiet)
    keys = dict.fromkeys((figure.ruler, figure.metric) for figure in told)
    plots = (_plot(key, arms, settings) for key in keys if _shown(key) and not _repeats(key, arms))
    return [plot for plot in plots if plot]


def drawn_twice(title: str, caption: str, draw: Callable[[Size], Markup], *, half: bool = False) -> Plot:
    """The same picture for a desk (across, or two side by side) and for a phone."""
    wide = draw(Size.HALF if half else Size.WIDE)
    return Plot(title=title, caption=caption, wide=wide, narrow=draw(Size.NARROW), half=half)


def _shown(key: Key) -> bool:
    if key[0] == RULER:
        return key[1] in ("finished_share", "e2e_s")
    return key[1] not in _EXPLAINING and (key[1] not in _SPECULATION or key[0] == "speculation")


def _repeats(key: Key, arms: Sequence[Arm]) -> bool:
    """Whether the first answer token is the first token anyway, as it is without thinking: one picture is enough."""
    if key[1] != "ttfa_s":
        return False
    told = [[(f.case, f.samples) for f in arm.figures if (f.ruler, f.metric) == (key[0], "ttft_s")] for arm in arms]
    return told == [[(f.case, f.samples) for f in arm.figures if (f.ruler, f.metric) == key] for arm in arms]


def _plot(key: Key, arms: Sequence[Arm], settings: Mapping[str, Any]) -> Plot | None:
    ruler, metric = key
    chosen = [Arm(arm.name, [f for f in arm.figures if (f.ruler, f.metric) == key]) for arm in arms]
    if not any(_samples(figure) for arm in chosen for figure in arm.figures):
        return None
    if ruler == "concurrency" and _steps(chosen, r"c?(\d+)"):
        return _stepped(key, chosen, "streams at once", r"c?(\d+)", _knee(arms))
    if ruler == "prefill" and len(_steps(chosen, r"pp(\d+)")) > 2:
        return _stepped(key, chosen, "prompt tokens", r"pp(\d+)", None)
    if metric == "retention":
        return _retained(chosen)
    if ruler == RULER and len(arms) == 1 and metric == "finished_share":
        return _traded(arms[0])
    return _dotted(key, chosen, settings)


def _dotted(key: Key, arms: Sequence[Arm], settings: Mapping[str, Any]) -> Plot:
    rows = list(_dot_rows(arms, settings))[:_MOST_ROWS]
    name = metric_title(key[1])
    title = f"{name} by condition" if key[0] == "decode" else name if key[0] == name else f"{key[0]}: {name}"
    unit = next((figure.unit for arm in arms for figure in arm.figures), "")
    caption = _DOTS + (_BOUNDS if any(row.bounds for row in rows) else "")
    return drawn_twice(title, caption, lambda size: dot_rows(title, unit, rows, size), half=_short(rows))


def _short(rows: Sequence[DotRow]) -> bool:
    """Whether half the page is enough: few rows with short names."""
    return len(rows) < 8 and all(len(row.label) < 14 and not row.heading for row in rows)


def _dot_rows(arms: Sequence[Arm], settings: Mapping[str, Any]) -> Iterator[DotRow]:
    """Grouped by case; arms beside each other, where there are several."""
    cases = dict.fromkeys((figure.ruler, figure.case) for arm in arms for figure in arm.figures)
    for ruler, case in cases:
        heading = label = row_label(ruler, case, settings)
        for index, arm in enumerate(arms):
            figures = [figure for figure in arm.figures if figure.case == case]
            if figures and arm.name:
                yield _dot_row(figures, arm.name, index, heading)
                heading = ""
            elif figures:
                yield _dot_row(figures, label, 1, "")


def _dot_row(figures: Sequence[Figure], label: str, series: int, heading: str) -> DotRow:
    quotable = [figure for figure in figures if _quotable(figure)]
    worst = next((figure.status for figure in figures if figure.status is not Status.OK), None)
    return DotRow(
        label=label,
        samples=tuple(sample for figure in quotable for sample in _samples(figure)),
        value=median(values) if (values := finite(figure.value for figure in quotable)) else None,
        series=series,
        heading=heading,
        bounds=figures[0].interval if len(figures) == 1 and quotable else None,
        note=worst.value if worst and not quotable else "",
    )


def _stepped(key: Key, arms: Sequence[Arm], steps: str, pattern: str, knee: int | None) -> Plot:
    title = f"{metric_title(key[1])} against {steps}"
    unit = next((figure.unit for arm in arms for figure in arm.figures), "")
    lines = [Curve(arm.name, _by_step(arm, pattern)) for arm in arms]
    caption = "Every dot is one sample, the line joins the medians."
    return drawn_twice(title, caption, lambda size: curves(title, unit, steps, lines, size, knee=knee), half=True)


def _by_step(arm: Arm, pattern: str) -> dict[int, tuple[float, ...]]:
    steps: dict[int, tuple[float, ...]] = {}
    for figure in arm.figures:
        if (match := re.match(pattern, figure.case)) and _quotable(figure):
            step = int(match[1][:9])
            steps[step] = steps.get(step, ()) + _samples(figure)
    return steps


def _steps(arms: Sequence[Arm], pattern: str) -> set[int]:
    return {step for arm in arms for step in _by_step(arm, pattern)}


def _knee(arms: Sequence[Arm]) -> int | None:
    """The knee that the ruler itself found; arms of a trial have one each, and the picture shows none."""
    found = [figure.value for arm in arms for figure in arm.figures if figure.metric == "knee_streams"]
    knees = {int(value) for value in plottable(found)}
    return knees.pop() if len(knees) == 1 and len(arms) == 1 else None


def _traded(arm: Arm) -> Plot | None:
    points = trades(arm.figures)
    title = "thinking budgets"
    caption = "Each point is a budget; the line joins those that no other beats. The large one is recommended."
    return drawn_twice(title, caption, lambda size: frontier(title, points, size), half=True) if points else None


def _retained(arms: Sequence[Arm]) -> Plot:
    rows = [
        Bar(
            label=f"{arm.name} {figure.case}".strip(),
            share=figure.value if _quotable(figure) else None,
            samples=_samples(figure) if _quotable(figure) else (),
            note="" if _quotable(figure) else figure.status.value,
            series=index + 1,
        )
        for index, arm in enumerate(arms)
        for figure in arm.figures
    ][:_MOST_ROWS]
    title, axis = "kept while the other model works", "share of its own throughput alone"
    caption = "100 % is what the model does alone. Dots are samples."
    return drawn_twice(title, caption, lambda size: share_bars(title, axis, rows, size), half=len(rows) < 8)


def _quotable(figure: Figure) -> bool:
    return figure.status in (Status.OK, Status.UNVERIFIED)


def _samples(figure: Figure) -> tuple[float, ...]:
    return tuple(finite(figure.samples or (figure.value,)))
