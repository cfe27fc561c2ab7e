"""A trial document as tables, the verdict first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pitstop.core.documents import (
    RunDocument,
    Status,
    TrialDocument,
    Verdict,
    VerdictRecord,
)
from pitstop.report.arm_tables import arms_table, incidents_table, log_table, plan_table, production_table
from pitstop.report.labels import metric_title, row_label
from pitstop.report.numbers import change, change_interval, finite, handy_unit, median_cell, percent
from pitstop.report.quiet import never_happened
from pitstop.report.run_tables import warnings_table
from pitstop.report.table import Cell, Column, Table, Tone

VERDICT_TONES = {
    Verdict.BETTER: Tone.GOOD,
    Verdict.WORSE: Tone.BAD,
    Verdict.EQUIVALENT: Tone.PLAIN,
    Verdict.UNDECIDED: Tone.WARN,
}
# A sign beside the word, so that a verdict does not rest on its colour.
VERDICT_SIGNS = {Verdict.BETTER: "▲", Verdict.WORSE: "▼", Verdict.EQUIVALENT: "≈", Verdict.UNDECIDED: "?"}
_VERDICT_COLUMNS = (
    Column("arm"),
    Column("test"),
    Column("figure"),
    Column("change", "right"),
    Column("95 % interval", "right"),
    Column("verdict"),
    Column("minimum", "right"),
    Column("noise floor", "right"),
    Column("blocks", "right"),
    Column("why", "right"),
)


def trial_tables(trial: TrialDocument) -> list[Table]:
    """Every table of a trial, in the order of the report; those without rows are left out."""
    tables = [
        verdict_table(trial),
        other_verdicts_table(trial),
        production_table(trial.production),
        arms_table(trial.arms),
    ]
    tables += [incidents_table(trial.arms), values_table(trial), plan_table(trial.plan)]
    tables += [log_table(trial), warnings_table(trial.warnings)]
    return [table for table in tables if table.rows]


def verdict_table(trial: TrialDocument) -> Table:
    """What the trial decides by: a row per primary figure of each variant, the reasons numbered below."""
    return _verdicts("verdicts", decisive(trial.verdicts), trial.plan)


def other_verdicts_table(trial: TrialDocument) -> Table:
    """The rest of the figures: shown, not decided by."""
    chosen = decisive(trial.verdicts)
    return _verdicts("other figures", [each for each in trial.verdicts if each not in chosen], trial.plan)


def decisive(verdicts: Sequence[VerdictRecord]) -> list[VerdictRecord]:
    """The primary figures; all of them where none was named."""
    return [each for each in verdicts if each.primary] or list(verdicts)


def values_table(trial: TrialDocument) -> Table:
    """The number behind every verdict: one value per boot and arm, with how far the boots lie apart."""
    columns = [Column("test"), Column("figure"), *(Column(arm.name, "right") for arm in trial.arms)]
    keys = dict.fromkeys((f.ruler, f.case, f.metric, f.unit) for arm in trial.arms for r in arm.runs for f in r.figures)
    quiet = never_happened(f for arm in trial.arms for run in arm.runs for f in run.figures)
    rows = []
    for ruler, case, metric, unit in keys:
        if (ruler, case, metric) in quiet:
            continue
        values = [_boot_values(arm.runs, (ruler, case, metric)) for arm in trial.arms]
        factor, shown = handy_unit(unit, next((value for boots in values for value in boots), None))
        cells = (Cell(median_cell(None, [value * factor for value in boots])) for boots in values)
        title = f"{metric_title(metric)}, {shown}" if shown else metric_title(metric)
        rows.append((Cell(row_label(ruler, case, trial.plan)), Cell(title), *cells))
    note = "Median over boots [smallest – largest boot]."
    return Table("values by arm", tuple(columns), tuple(rows), (note,))


def verdict_words(verdict: Verdict) -> str:
    """`▲ better`: sign and word."""
    return f"{VERDICT_SIGNS[verdict]} {verdict.value}"


def _verdicts(title: str, verdicts: Sequence[VerdictRecord], plan: Mapping[str, Any]) -> Table:
    reasons = list(dict.fromkeys(_why(each) for each in verdicts if each.reason))
    rows = tuple(_verdict_row(each, plan, reasons) for each in verdicts)
    return Table(title, _VERDICT_COLUMNS, rows, tuple(f"{index}: {why}" for index, why in enumerate(reasons, 1)))


def _verdict_row(each: VerdictRecord, plan: Mapping[str, Any], reasons: list[str]) -> tuple[Cell, ...]:
    return (
        Cell(each.arm),
        Cell(row_label(each.ruler, each.case, plan)),
        Cell(metric_title(each.metric)),
        Cell(change(each.ratio), Tone.STRONG),
        Cell(change_interval(each.interval)),
        Cell(verdict_words(each.verdict), VERDICT_TONES[each.verdict]),
        Cell(f"±{percent(each.minimum_effect)}"),
        Cell(percent(each.noise_floor)),
        Cell(str(each.blocks)),
        Cell(str(reasons.index(_why(each)) + 1) if each.reason else "", Tone.MUTED),
    )


def _why(each: VerdictRecord) -> str:
    if each.blocks_to_decide is None or "block" in each.reason:
        return each.reason
    return f"{each.reason} ({each.blocks_to_decide} more blocks would decide)"


def _boot_values(runs: Iterable[RunDocument], key: tuple[str, str, str]) -> list[float]:
    """One value per boot; those that must not be quoted are left out."""
    found = (figure for run in runs for figure in run.figures if (figure.ruler, figure.case, figure.metric) == key)
    return finite(figure.value for figure in found if figure.status is not Status.INVALID)
