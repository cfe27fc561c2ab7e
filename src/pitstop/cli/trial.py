"""`pitstop trial`: run, status, recover, list, show."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded, print_error

if TYPE_CHECKING:
    from pitstop.core.documents import TrialDocument
    from pitstop.core.errors import ExitCode
    from pitstop.services.trial.folder import TrialFolder
    from pitstop.services.trial.promise import Promise


def register(app: typer.Typer) -> None:
    trial = typer.Typer(help="The unattended A/B test: production down, variants up in turn, verdict, production back.")
    trial.command("run")(run_trial)
    trial.command("status")(status)
    trial.command("rehearse")(rehearse)
    trial.command("recover")(recover)
    trial.command("list")(list_trials)
    trial.command("show")(show)
    app.add_typer(trial, name="trial", no_args_is_help=True)


@guarded
def run_trial(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The trial's name in pitstop.toml.")],
    dry_run: DryRun = False,
    window: Annotated[str, typer.Option(help="Only begin within this part of the day, as in 01:00-06:00.")] = "",
    aa: Annotated[bool, typer.Option("--aa", help="Production against itself: this box's noise floor.")] = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Run a trial: wait for idle, take production down, measure every arm, put production back, say the verdict."""
    from pitstop.cli.trial_stage import conducted, drawn_up, why_refused
    from pitstop.services.trial.prepare import Kind

    shell = Shell(json_output, config_file)
    promise, site = drawn_up(shell, name, window, Kind.NOISE if aa else Kind.VARIANTS)
    if dry_run:
        _show_plan(shell, promise, why_refused(shell, promise, site))
        return
    document = conducted(shell, promise, site)
    tell(shell, document)
    _tell_promotion(shell, document)
    shell.finish(exit_code(document))


@guarded
def rehearse(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The trial's name in pitstop.toml.")],
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Take production down and put it back, with nothing in between: does the restore work on this box?"""
    from pitstop.cli.trial_stage import conducted, drawn_up, why_refused
    from pitstop.core.errors import ExitCode
    from pitstop.services.trial.prepare import Kind

    shell = Shell(json_output, config_file)
    promise, site = drawn_up(shell, name, kind=Kind.REHEARSAL)
    if dry_run:
        _show_plan(shell, promise, why_refused(shell, promise, site))
        return
    document = conducted(shell, promise, site)
    shell.document(document)
    _tell_production(shell, document)
    code = exit_code(document)
    shell.finish(ExitCode.DONE if code is ExitCode.INCONCLUSIVE and document.state == "finished" else code)


@guarded
def recover(json_output: JsonFlag = False, dry_run: DryRun = False, config_file: ConfigFile = None) -> None:
    """Put production back after a trial whose process was killed. Needs no configuration file."""
    from pitstop.cli.trial_stage import recovered
    from pitstop.core.errors import ExitCode, LeaseHeld, PitstopError
    from pitstop.services.trial.folder import open_trials

    shell = Shell(json_output, config_file)
    waiting = sorted(open_trials(shell.home()), key=lambda folder: not folder.owes_restore())  # production first
    if not waiting or dry_run:
        shell.document({"recovered": [], "open": [folder.id for folder in waiting]})
        shell.say("\n".join(f"would recover {folder.id}" for folder in waiting) or "No trial is open; nothing is owed.")
        return
    documents: list[TrialDocument] = []
    failed: dict[str, PitstopError] = {}
    for folder in waiting:
        try:
            documents.append(recovered(shell, folder))
        except LeaseHeld:
            raise
        except PitstopError as error:  # this one cannot be put back; the others can
            failed[folder.id] = error
    shell.document({"recovered": documents, "failed": {trial: str(error) for trial, error in failed.items()}})
    for document in documents:
        _tell_production(shell, document)
    for problem in failed.values():
        print_error(problem.message, problem.hint)
    back = not failed and all(document.production.restored for document in documents)
    shell.finish(ExitCode.DONE if back else ExitCode.NOT_RESTORED)


@guarded
def status(json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
    """Say which trial runs now, and where it stands."""
    from pitstop.services.lease import lease_standing
    from pitstop.services.trial.folder import open_trials

    shell = Shell(json_output, config_file)
    home = shell.home()
    lease, standing = lease_standing(home, time.monotonic())
    found = [_standing_of(folder) for folder in open_trials(home)]
    purpose = lease.purpose if lease else None
    shell.document({"open": found, "lease": {"standing": standing.value, "purpose": purpose}})
    if not found:
        shell.say("No trial runs, and none is owed a restore.")
    for one in found:
        done = f", {one['boots_done']} of {one['boots']} boots done" if one["boots"] is not None else ""
        shell.say(f"{one['id']}: {one['step']}{done}; lease {standing.value}")


def _standing_of(folder: TrialFolder) -> dict[str, Any]:
    """Where one open trial stands; one whose promise is damaged is told too, and hides no other."""
    from pitstop.core.errors import UsageError
    from pitstop.services.trial.journal import steps

    step, state = "damaged", None
    try:
        state = folder.state()
        told = steps(folder.path)
        step = told[-1][0].do.value if told else "not begun"
    except UsageError as error:
        step = f"damaged: {error.message}"
    return {
        "id": folder.id, "step": step, "boots_done": state.position if state else None,
        "boots": len(state.boots) if state else None, "touched": state.touched if state else None,
        "owes_restore": folder.owes_restore(),
    }  # fmt: skip


@guarded
def list_trials(json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
    """List the trials in the ledger, the latest first."""
    from pitstop.cli.ledger import opened_ledger
    from pitstop.cli.tables import listed

    shell = Shell(json_output, config_file)
    with opened_ledger(shell) as ledger:
        summaries = ledger.list_trials()
    shell.document({"trials": summaries})
    rows = [(one.id, one.name, one.engine, one.state, one.started_at, one.finished_at or "") for one in summaries]
    columns = ("id", "trial", "engine", "state", "started", "finished")
    shell.say(listed("trials", columns, rows, terminal=shell.on_terminal) if rows else "The ledger holds no trial yet.")


@guarded
def show(
    trial_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, or enough of the beginning.")],
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Show one trial: verdicts, arms, and how production came back."""
    from pitstop.cli.ledger import opened_ledger

    shell = Shell(json_output, config_file)
    with opened_ledger(shell) as ledger:
        document = ledger.trial(trial_id)
    tell(shell, document)
    shell.say(f"All of it: pitstop report {document.id} --html FILE")


def exit_code(document: TrialDocument) -> ExitCode:
    """What a trial's command ends with: production first, then interruption, then the primary verdicts."""
    from pitstop.core.documents import Verdict
    from pitstop.core.errors import ExitCode
    from pitstop.decisions.trial import Ending

    if not document.production.restored:
        return ExitCode.NOT_RESTORED
    endings = {
        Ending.INTERRUPTED: ExitCode.INTERRUPTED,
        Ending.FAILED: ExitCode.UNREACHABLE,
        Ending.GAVE_UP: ExitCode.INCONCLUSIVE,
    }
    if document.state in endings:
        return endings[Ending(document.state)]
    primary = [record.verdict for record in document.verdicts if record.primary]
    if Verdict.WORSE in primary:
        return ExitCode.WORSE
    return ExitCode.INCONCLUSIVE if Verdict.UNDECIDED in primary or not primary else ExitCode.DONE


def tell(shell: Shell, document: TrialDocument) -> None:
    """The trial in sentences, with its verdicts; all of it is in the report."""
    from pitstop.cli.tables import drawn, said
    from pitstop.report.arm_tables import incidents_table
    from pitstop.report.sentences import trial_headlines
    from pitstop.report.trial_tables import verdict_table

    shell.document(document)
    for table in (verdict_table(document), incidents_table(document.arms)):
        if table.rows:
            shell.say(drawn(table, terminal=shell.on_terminal), "")
    shell.say(*said(trial_headlines(document)))
    _tell_production(shell, document)
    for notice in document.warnings:
        shell.note(f"warning: {notice.text}")


def _tell_promotion(shell: Shell, document: TrialDocument) -> None:
    """The edit that would make a winner production. Making it is a person's act."""
    from pitstop.core.errors import UsageError
    from pitstop.report.promotion import promotion_diff
    from pitstop.report.sentences import winners

    for arm in winners(document):
        try:
            toml = shell.config_path.read_text("utf-8")
            diff = promotion_diff(toml, document.production.engine, arm.overrides, shell.config_path.name)
        except (OSError, UsageError):
            continue
        shell.say(f"To make {arm.name} production, make this edit and run `pitstop restart`:", diff)


def _tell_production(shell: Shell, document: TrialDocument) -> None:
    from pitstop.cli.tables import said
    from pitstop.report.sentences import production_sentence

    shell.say(*said([production_sentence(document)]))
    if not document.production.restored:
        last = next((line["reason"] for line in reversed(document.log) if line.get("reason")), "not known")
        shell.say(f"The last that went wrong: {last}", "Mend that, then: pitstop trial recover")


def _show_plan(shell: Shell, promise: Promise, refused: str) -> None:
    from rich.markup import escape

    from pitstop.services.trial.dry_run import steps_of

    arms: list[dict[str, Any]] = [
        {"name": arm.name, "overrides": arm.overrides, "fingerprint": arm.spec.fingerprint, "argv": list(arm.spec.argv)}
        for arm in promise.arms
    ]
    order = [promise.arms[boot.arm].name for boot in promise.boots]
    steps = steps_of(promise)
    shell.document(
        {"dry_run": True, "engine": promise.engine_name, "arms": arms, "order": order, "steps": steps,
         "refused": refused}
    )  # fmt: skip
    shell.say(f"Trial {promise.name} of {promise.engine_name} would do, and nothing is touched now:")
    for number, step in enumerate(steps, 1):
        shell.say(escape(f"{number:3}. {step['step']}: {step['does']}"))
        for line in step["runs"]:
            shell.say(escape(f"       {line}"))
    if refused:
        shell.say(escape(f"As things are now it would be refused before it touches anything: {refused}"))
