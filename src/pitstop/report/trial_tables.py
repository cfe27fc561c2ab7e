"""A trial document as tables: the verdict first, then arms, production and what happened when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pitstop.core.documents import (
    ArmRecord,
    ProductionRecord,
    RunDocument,
    Status,
    TrialDocument,
    Verdict,
    VerdictRecord,
)
from pitstop.core.secrets import masked
from pitstop.report.flatten import entries, readable
from pitstop.report.labels import (
    UNKNOWN,
    change,
    change_interval,
    finite,
    handy_unit,
    median_cell,
    metric_title,
    percent,
    row_label,
    seconds,
)
from pitstop.report.run_tables import facts_table, warnings_table
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
)
_ARM_COLUMNS = (
    Column("arm"),
    Column("overrides"),
    Column("boots", "right"),
    Column("version"),
    Column("image"),
    Column("fingerprint"),
    Column("incidents", "right"),
)


def trial_tables(trial: TrialDocument) -> list[Table]:
    """Every table of a trial, in the order of the report; those without rows are left out."""
    tables = [verdict_table(trial), production_table(trial.production), arms_table(trial.arms)]
    tables += [incidents_table(trial.arms), values_table(trial), plan_table(trial.plan)]
    tables += [log_table(trial), warnings_table(trial.warnings)]
    return [table for table in tables if table.rows]


def verdict_table(trial: TrialDocument) -> Table:
    """Primary figures first; a row per figure of each variant, the reasons below."""
    ordered = sorted(trial.verdicts, key=lambda each: not each.primary)
    rows = tuple(_verdict_row(each, trial.plan) for each in ordered)
    reasons = (f"{_name(each, trial.plan)}: {each.reason}{_more(each)}" for each in ordered if each.reason)
    notes = [] if all(each.primary for each in ordered) else ["Muted rows are not primary: shown, not decided by."]
    return Table("verdicts", _VERDICT_COLUMNS, rows, (*notes, *dict.fromkeys(reasons)))


def arms_table(arms: Iterable[ArmRecord]) -> Table:
    """What ran in each arm, as the engines themselves said."""
    return Table("arms", _ARM_COLUMNS, tuple(_arm_row(arm) for arm in arms))


def incidents_table(arms: Iterable[ArmRecord]) -> Table:
    """Failed boots, guard stops, refused requests: results of their arm, not missing data."""
    columns = (Column("arm"), Column("when"), Column("incident"), Column("detail"))
    rows = tuple((Cell(arm.name), *_event_cells(incident)) for arm in arms for incident in arm.incidents)
    return Table("incidents", columns, rows)


def production_table(production: ProductionRecord) -> Table:
    """Is production back, and how do we know."""
    same = production.fingerprint_after in (production.fingerprint_before, None)  # None: not asked again
    back = production.restored and same
    facts = (
        ("engine", Cell(production.engine)),
        ("back", Cell("yes" if back else "no, a person is needed", Tone.GOOD if back else Tone.BAD)),
        ("fingerprint before", Cell(production.fingerprint_before)),
        ("fingerprint after", Cell(production.fingerprint_after or UNKNOWN, Tone.PLAIN if same else Tone.BAD)),
        ("proved by", Cell(production.proved_by or UNKNOWN)),
        ("downtime", Cell(seconds(production.downtime_s))),
    )
    return Table("production", (Column("what"), Column("value")), tuple((Cell(name), cell) for name, cell in facts))


def values_table(trial: TrialDocument) -> Table:
    """The number behind every verdict: one value per boot and arm, with how far the boots lie apart."""
    columns = [Column("test"), Column("figure"), *(Column(arm.name, "right") for arm in trial.arms)]
    keys = dict.fromkeys((f.ruler, f.case, f.metric, f.unit) for arm in trial.arms for r in arm.runs for f in r.figures)
    rows = []
    for ruler, case, metric, unit in keys:
        values = [_boot_values(arm.runs, (ruler, case, metric)) for arm in trial.arms]
        factor, shown = handy_unit(unit, next((value for boots in values for value in boots), None))
        cells = (Cell(median_cell(None, [value * factor for value in boots])) for boots in values)
        title = f"{metric_title(metric)}, {shown}" if shown else metric_title(metric)
        rows.append((Cell(row_label(ruler, case, trial.plan)), Cell(title), *cells))
    note = "Median over boots [smallest – largest boot]."
    return Table("values by arm", tuple(columns), tuple(rows), (note,))


def log_table(trial: TrialDocument) -> Table:
    """What happened when, arms by name."""
    names = dict(enumerate(arm.name for arm in trial.arms))
    events = [
        {**entry, "arm": names.get(entry["arm"], entry["arm"])} if "arm" in entry else entry for entry in trial.log
    ]
    columns = (Column("when"), Column("what"), Column("detail"))
    return Table("timeline", columns, tuple(_event_cells(entry) for entry in events))


def plan_table(plan: Mapping[str, Any]) -> Table:
    """What was set beforehand; the order of boots as it was run."""
    boots = plan.get("boots")
    told = dict(plan)
    if isinstance(boots, list) and all(isinstance(boot, list | tuple) and len(boot) == 2 for boot in boots):
        told["boots"] = " → ".join(str(boot[1]) for boot in boots)
    return facts_table("plan", told)


def verdict_words(verdict: Verdict) -> str:
    """`▲ better`: sign and word."""
    return f"{VERDICT_SIGNS[verdict]} {verdict.value}"


def _verdict_row(each: VerdictRecord, plan: Mapping[str, Any]) -> tuple[Cell, ...]:
    quiet = Tone.PLAIN if each.primary else Tone.MUTED
    return (
        Cell(each.arm, quiet),
        Cell(row_label(each.ruler, each.case, plan), quiet),
        Cell(metric_title(each.metric), quiet),
        Cell(change(each.ratio), Tone.STRONG if each.primary else quiet),
        Cell(change_interval(each.interval), quiet),
        Cell(verdict_words(each.verdict), VERDICT_TONES[each.verdict] if each.primary else quiet),
        Cell(f"±{percent(each.minimum_effect)}", quiet),
        Cell(percent(each.noise_floor), quiet),
        Cell(str(each.blocks), quiet),
    )


def _name(each: VerdictRecord, plan: Mapping[str, Any]) -> str:
    return f"{each.arm}, {row_label(each.ruler, each.case, plan)} {metric_title(each.metric)}"


def _more(each: VerdictRecord) -> str:
    if each.blocks_to_decide is None or "block" in each.reason:
        return ""
    return f" ({each.blocks_to_decide} more blocks would decide)"


def _arm_row(arm: ArmRecord) -> tuple[Cell, ...]:
    overrides = ", ".join(f"{knob}={value}" for knob, value in masked(arm.overrides).items()) or "production's defaults"
    incidents = len(arm.incidents)
    return (
        Cell(arm.name, Tone.STRONG),
        Cell(overrides),
        Cell(str(len(arm.runs))),
        Cell(_told([run.engine.version for run in arm.runs])),
        Cell(_told([_short_digest(run.engine.image_digest) for run in arm.runs])),
        Cell(arm.fingerprint),
        Cell(str(incidents), Tone.BAD if incidents else Tone.MUTED),
    )


def _told(values: list[str | None]) -> str:
    """All different answers: more than one means that the arm did not stay the same engine."""
    return ", ".join(dict.fromkeys(value for value in values if value)) or UNKNOWN


def _short_digest(digest: str | None) -> str | None:
    return digest and digest.removeprefix("sha256:")[:12]


def _boot_values(runs: Iterable[RunDocument], key: tuple[str, str, str]) -> list[float]:
    """One value per boot; those that must not be quoted are left out."""
    found = (figure for run in runs for figure in run.figures if (figure.ruler, figure.case, figure.metric) == key)
    return finite(figure.value for figure in found if figure.status is not Status.INVALID)


def _event_cells(event: Mapping[str, Any]) -> tuple[Cell, Cell, Cell]:
    """A log entry or incident whatever its keys: time, name, and the rest as `key value` pairs."""
    left = {key: value for key, value in event.items() if key != "memory_curve"}
    when = next((left.pop(key) for key in ("at", "time", "first_at", "started_at") if key in left), None)
    what = next(
        (left.pop(key) for key in ("kind", "event", "step", "outcome", "code", "signature") if key in left), None
    )
    text = next(
        (left.pop(key) for key in ("text", "summary", "reason", "note", "detail", "message") if key in left), None
    )
    rest = "; ".join(f"{key} {readable(key, value)}" for key, value in entries(left) if value not in (None, "", [], {}))
    detail = " · ".join(part for part in (readable("", text) if text else "", rest) if part)
    return Cell(readable("", when)), Cell(readable("", what)), Cell(detail)
