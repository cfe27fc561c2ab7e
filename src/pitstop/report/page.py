"""What stands on the page of a run and of a trial, and in which order."""

from __future__ import annotations

from dataclasses import replace

from pitstop.core.documents import RunDocument, TrialDocument
from pitstop.report.arm_tables import arms_table, incidents_table, log_table, plan_table, production_table
from pitstop.report.clean import one_line
from pitstop.report.figure_plots import arms_of, figure_plots
from pitstop.report.labels import footer
from pitstop.report.method import method_notes
from pitstop.report.numbers import UNKNOWN, moment, percent, seconds
from pitstop.report.run_tables import (
    by_ruler,
    conditions_table,
    facts_table,
    figure_tables,
    identity_table,
    requests_table,
    warnings_table,
)
from pitstop.report.samples import samples_table
from pitstop.report.sentences import production_sentence, run_caveats, run_headline, trial_headlines
from pitstop.report.sheet import Page, Section, filled, render_page
from pitstop.report.table import Table
from pitstop.report.task_tables import NamedRun, folds, task_table
from pitstop.report.trial_plots import memory_plots, verdict_plots
from pitstop.report.trial_tables import other_verdicts_table, values_table, verdict_table

_PROMOTION = "Nothing has been changed. This edit would make the winner production; making it is up to a person."
METHOD = "tokens as the server counted them · median of samples, every sample kept"


def render_run(run: RunDocument) -> str:
    """A run document as one HTML file."""
    return render_page(
        Page(
            kind="run",
            title=f"{one_line(run.engine.model)} measured",
            headlines=[run_headline(run)],
            statements=run_caveats(run),
            facts=_run_facts(run),
            sections=_run_sections(run),
            footer=footer(run.tool, METHOD),
        )
    )


def render_trial(trial: TrialDocument, *, promotion: str = "") -> str:
    """A trial document as one HTML file; `promotion` is the edit that would make the winner production."""
    return render_page(
        Page(
            kind="trial",
            title=f"trial {one_line(trial.name)}",
            headlines=trial_headlines(trial),
            statements=[production_sentence(trial)],
            facts=_trial_facts(trial),
            sections=_trial_sections(trial, promotion),
            footer=footer(_trial_tool(trial), METHOD),
        )
    )


def _run_facts(run: RunDocument) -> list[tuple[str, str]]:
    return [
        ("engine", f"{run.engine.kind} {run.engine.version or UNKNOWN}"),
        ("model", run.engine.model),
        ("rulers", ", ".join(by_ruler(run.figures)) or UNKNOWN),
        ("started", moment(run.started_at)),
        ("run", run.id),
    ]


def _run_sections(run: RunDocument) -> list[Section]:
    return [
        Section("Warnings", tables=filled([warnings_table(run.warnings)])),
        Section(
            "Figures", plots=tuple(figure_plots(arms_of([("", run)]), run.settings)), tables=tuple(figure_tables(run))
        ),
        _tasks_section([("", run)]),
        Section("Requests", tables=filled([requests_table(run.requests)]), folded=filled([samples_table([("", run)])])),
        Section("Engine and conditions", tables=filled([identity_table(run.engine), conditions_table(run)])),
        Section("What was asked", tables=filled([facts_table("asked for", run.settings)])),
        Section("Method", notes=tuple(method_notes(by_ruler(run.figures)))),
    ]


def _trial_facts(trial: TrialDocument) -> list[tuple[str, str]]:
    efforts = {each.minimum_effect for each in trial.verdicts}
    return [
        ("production", trial.production.engine),
        ("variants", ", ".join(arm.name for arm in trial.arms if arm.overrides) or UNKNOWN),
        ("minimum effect", " / ".join(percent(each) for each in sorted(efforts)) or UNKNOWN),
        ("downtime", seconds(trial.production.downtime_s)),
        ("started", moment(trial.started_at)),
        ("finished", moment(trial.finished_at)),
        ("trial", trial.id),
    ]


def _trial_sections(trial: TrialDocument, promotion: str) -> list[Section]:
    runs = [(arm.name, run) for arm in trial.arms for run in arm.runs]
    rulers = [figure.ruler for _, run in runs for figure in run.figures]
    identities = [_titled(identity_table(run.engine), f"{name}, boot {run.id}") for name, run in runs]
    conditions = [_titled(conditions_table(run), f"{name}, boot {run.id}: conditions") for name, run in runs]
    return [
        Section(
            "Verdict",
            plots=tuple(verdict_plots(trial)),
            tables=filled([verdict_table(trial)]),
            folded=filled([other_verdicts_table(trial)]),
        ),
        Section("Warnings", tables=filled([warnings_table(trial.warnings)])),
        Section(
            "Figures",
            plots=tuple(figure_plots(arms_of(runs), trial.plan)),
            tables=filled([values_table(trial)]),
            folded=filled([samples_table(runs)]),
        ),
        _tasks_section(runs),
        Section(
            "Arms",
            plots=tuple(memory_plots(trial.arms)),
            tables=filled([arms_table(trial.arms), incidents_table(trial.arms)]),
        ),
        Section("Production", tables=filled([production_table(trial.production)])),
        Section("Promotion", lead=_PROMOTION if promotion else "", code=promotion),
        Section("What was asked", tables=filled([plan_table(trial.plan)])),
        Section("Engines and conditions", folded=filled([*identities, *conditions])),
        Section("Timeline", folded=filled([log_table(trial)])),
        Section("Method", notes=tuple(method_notes(rulers, verdicts=True))),
    ]


def _tasks_section(runs: list[NamedRun]) -> Section:
    """Quality task by task; left out of the page where there are none."""
    return Section("Tasks", tables=filled([task_table(runs)]), folds=folds(runs))


def _titled(table: Table, title: str) -> Table:
    return replace(table, title=title)


def _trial_tool(trial: TrialDocument) -> dict[str, str]:
    """A trial says which pitstop made it through its runs."""
    return next((run.tool for arm in trial.arms for run in arm.runs), {"name": "pitstop"})
