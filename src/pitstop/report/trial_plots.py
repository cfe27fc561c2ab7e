"""The pictures that only a trial has: its verdicts as a forest, and memory around a guard stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.core.documents import ArmRecord, TrialDocument, VerdictRecord
from pitstop.decisions.merit import higher_is_better, is_judged
from pitstop.report.clean import one_line
from pitstop.report.figure_plots import drawn_twice
from pitstop.report.labels import metric_title, row_label
from pitstop.report.plots.forest import ForestRow, forest
from pitstop.report.plots.memory import MemoryCurve, memory_plot
from pitstop.report.sheet import Plot
from pitstop.report.trial_tables import VERDICT_TONES, decisive, verdict_words

_BAND = (
    "A point is the ratio to production, its line the 95 % interval. The band is the minimum effect that was set "
    "beforehand, the dotted lines are this machine's boot-to-boot noise."
)


_MOST_ROWS = 40


def verdict_plots(trial: TrialDocument) -> list[Plot]:
    """One forest for rates, one for times: the figures that decide, and others that have an interval."""
    deciding = decisive(trial.verdicts)
    others = [each for each in trial.verdicts if each not in deciding and each.interval and each.ratio is not None]
    ordered = [*deciding, *others][:_MOST_ROWS]
    rates = [_forest_row(each, trial.plan, each in deciding) for each in ordered if not _is_time(each)]
    times = [_forest_row(each, trial.plan, each in deciding) for each in ordered if _is_time(each)]
    both = [(rows, which) for rows, which in ((rates, "more is better"), (times, "less is better")) if rows]
    return [_forest_plot(which, rows, "" if index else _BAND) for index, (rows, which) in enumerate(both)]


def memory_plots(arms: Sequence[ArmRecord]) -> list[Plot]:
    """One curve per incident that brought one."""
    told = [(arm.name, read_memory_curve(incident.get("memory_curve"))) for arm in arms for incident in arm.incidents]
    return [_memory_plot(f"memory until {one_line(name)} was stopped", curve) for name, curve in told if curve]


def read_memory_curve(told: object) -> MemoryCurve | None:
    """`{"floor_bytes": …, "samples": [[seconds, available bytes, swap bytes], …]}`; None when it is not that."""
    if not isinstance(told, Mapping) or not isinstance(told.get("samples"), Sequence):
        return None
    samples = tuple(point for point in map(_point, told["samples"]) if point)
    floor = told.get("floor_bytes")
    return MemoryCurve(samples, _number(floor)) if samples else None


def _point(told: Any) -> tuple[float, float | None, float | None] | None:
    if not isinstance(told, Sequence) or isinstance(told, str | bytes) or len(told) < 2:
        return None
    time_s = _number(told[0])
    return None if time_s is None else (time_s, _number(told[1]), _number(told[2]) if len(told) > 2 else None)


def _number(value: object) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18 else None
    )


def _memory_plot(title: str, curve: MemoryCurve) -> Plot:
    caption = "The last reading is the one on which the guard acted."
    return drawn_twice(title, caption, lambda size: memory_plot(title, curve, size), half=True)


def _forest_plot(which: str, rows: Sequence[ForestRow], caption: str) -> Plot:
    title = f"change against production: {which}"
    return drawn_twice(title, caption, lambda size: forest(title, rows, size))


def _forest_row(each: VerdictRecord, plan: Mapping[str, Any], decides: bool) -> ForestRow:
    return ForestRow(
        label=f"{each.arm} · {row_label(each.ruler, each.case, plan)} {metric_title(each.metric)}",
        ratio=each.ratio,
        interval=each.interval,
        minimum_effect=each.minimum_effect,
        noise_floor=each.noise_floor,
        word=verdict_words(each.verdict),
        tone=VERDICT_TONES[each.verdict].value if decides else "muted",
    )


def _is_time(each: VerdictRecord) -> bool:
    return is_judged(each.metric) and not higher_is_better(each.metric)
