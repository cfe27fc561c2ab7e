"""What a trial did: its arms and their incidents, production before and after, the plan, the timeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pitstop.core.documents import ArmRecord, ProductionRecord, TrialDocument
from pitstop.core.secrets import masked
from pitstop.report.flatten import entries, readable
from pitstop.report.numbers import UNKNOWN, moment, seconds
from pitstop.report.run_tables import facts_table
from pitstop.report.table import Cell, Column, Table, Tone

_ARM_COLUMNS = (
    Column("arm"),
    Column("overrides"),
    Column("boots", "right"),
    Column("version"),
    Column("image"),
    Column("fingerprint"),
    Column("incidents", "right"),
)


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
    after = production.fingerprint_after
    same = after in (production.fingerprint_before, None)  # None: not asked again
    back = production.restored and same
    facts = (
        ("engine", Cell(production.engine)),
        ("back", Cell("yes" if back else "no, a person is needed", Tone.GOOD if back else Tone.BAD)),
        ("fingerprint before", Cell(production.fingerprint_before)),
        ("fingerprint after", Cell(after or UNKNOWN, Tone.PLAIN if same else Tone.BAD)),
        ("proved by", Cell(production.proved_by or UNKNOWN)),
        ("downtime", Cell(seconds(production.downtime_s))),
    )
    return Table("production", (Column("what"), Column("value")), tuple((Cell(name), cell) for name, cell in facts))


def log_table(trial: TrialDocument) -> Table:
    """What happened when, arms by name."""
    names = {index: arm.name for index, arm in enumerate(trial.arms)}
    events = (_with_arm(entry, names) for entry in trial.log)
    columns = (Column("when"), Column("what"), Column("detail"))
    return Table("timeline", columns, tuple(_event_cells(entry) for entry in events))


def plan_table(plan: Mapping[str, Any]) -> Table:
    """What was set beforehand; the order of boots as it was run."""
    boots = plan.get("boots")
    told = dict(plan)
    if isinstance(boots, list) and all(isinstance(boot, list | tuple) and len(boot) == 2 for boot in boots):
        told["boots"] = " → ".join(str(boot[1]) for boot in boots)
    return facts_table("plan", told)


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


def _with_arm(entry: Mapping[str, Any], names: Mapping[int, str]) -> Mapping[str, Any]:
    """The journal counts arms; people call them by name."""
    arm = entry.get("arm")
    return {**entry, "arm": names.get(arm, arm)} if isinstance(arm, int) else entry


def _told(values: list[str | None]) -> str:
    """All different answers: more than one means that the arm did not stay the same engine."""
    return ", ".join(dict.fromkeys(value for value in values if value)) or UNKNOWN


def _short_digest(digest: str | None) -> str | None:
    return digest and digest.removeprefix("sha256:")[:12]


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
    return Cell(moment(readable("", when))), Cell(readable("", what)), Cell(detail)
