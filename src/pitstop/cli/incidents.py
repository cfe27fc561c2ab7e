"""`pitstop incidents`: what broke, whether it is fixed."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.ledger import opened_ledger
from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.decisions.incidents.incident import Findings
    from pitstop.ledger.records import IncidentRecord

Files = Annotated[list[Path] | None, typer.Option("--log", metavar="FILE", help="A log; several ranks: several logs.")]


def register(app: typer.Typer) -> None:
    from pitstop.cli.incident_verdict import compare, count, verdict

    room = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What broke, and whether it is fixed.")
    for name, command in (
        ("scan", scan),
        ("list", listing),
        ("show", show),
        ("verdict", verdict),
        ("compare", compare),
        ("count", count),
        ("import", import_),
        ("signatures", signatures),
    ):
        room.command(name)(command)
    app.add_typer(room, name="incidents")


@guarded
def scan(
    logs: Files = None,
    inspects: Annotated[
        list[Path] | None, typer.Option("--inspect", metavar="FILE", help="`docker inspect` or `systemctl show`.")
    ] = None,
    kernels: Annotated[list[Path] | None, typer.Option("--kernel", metavar="FILE", help="The kernel's log.")] = None,
    guard_logs: Annotated[
        list[Path] | None, typer.Option("--guard-log", metavar="FILE", help="A memory guard's log.")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="File the incidents under this engine.")] = None,
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Read logs and states, and tell one incident per failure: its root, not its echo."""
    from pitstop.core.errors import UsageError
    from pitstop.services.incidents.catalogue import catalogue, user_folders
    from pitstop.services.incidents.scan import ScanInput, record_of
    from pitstop.services.incidents.scan import scan as read

    shell = Shell(json_output, config_file)
    given = ScanInput(logs or (), inspects or (), kernels or (), guard_logs or ())
    if not (given.logs or given.inspects or given.kernels or given.guard_logs):
        raise UsageError("There is nothing to scan.", hint="Name at least one file: --log FILE.")
    findings = read(given, catalogue(user_folders(os.environ)))
    records = [record_of(one, datetime.now(UTC), engine=engine) for one in findings.incidents]
    if not dry_run:
        _file(shell, records)
    shell.document(_scan_document(findings, records))
    _say_findings(shell, findings)


@guarded
def listing(
    signature: Annotated[str | None, typer.Option(help="Only of this signature.")] = None,
    engine: Annotated[str | None, typer.Option(help="Only of this engine.")] = None,
    since: Annotated[str | None, typer.Option(help="Only from this time on.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many, the latest first.")] = 50,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """List what the ledger knows of what broke, the latest first."""
    from pitstop.cli.tables import listed

    shell = Shell(json_output, config_file)
    with opened_ledger(shell) as ledger:
        found = ledger.incidents(signature=signature, engine=engine, since=since, limit=limit)
    shell.document({"incidents": found})
    rows = [(one.at[:19], one.engine or "", one.signature, one.summary, one.id) for one in found]
    shell.say(listed("incidents", ("at", "engine", "signature", "what", "id"), rows, terminal=shell.on_terminal))


@guarded
def show(
    incident: Annotated[str, typer.Argument(metavar="ID", help="The id, or how it begins.")],
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Show one incident with the lines that spoke."""
    shell = Shell(json_output, config_file)
    with opened_ledger(shell) as ledger:
        found = ledger.incident(incident)
    shell.document(found)
    _say_incident(shell, found, found.id)


@guarded
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML with [[incident]] and [[spell]] tables.")],
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Fill the ledger from a file: a history that was kept by hand."""
    from pitstop.services.incidents.history import read_history

    shell = Shell(json_output, config_file)
    history = read_history(file)
    if not dry_run:
        with opened_ledger(shell) as ledger:
            for incident in history.incidents:
                ledger.add_incident(incident)
            for spell in history.spells:
                ledger.add_exposure(spell)
    hours = sum(spell.hours_up for spell in history.spells)
    shell.document({"incidents": len(history.incidents), "spells": len(history.spells), "hours_up": hours})
    verb = "would import" if dry_run else "imported"
    shell.say(f"{verb} {len(history.incidents)} incidents and {len(history.spells)} spells ({hours / 24:.1f} days up)")


@guarded
def signatures(json_output: JsonFlag = False, _config_file: ConfigFile = None) -> None:
    """List the signatures that are known, pitstop's own and the user's."""
    from pitstop.cli.tables import listed
    from pitstop.decisions.incidents.signatures import AROUND
    from pitstop.services.incidents.catalogue import catalogue, user_folders

    shell = Shell(json_output, None)
    known = [one for one in catalogue(user_folders(os.environ)).signatures if one.role not in AROUND and one.summary]
    shell.document({"signatures": known})
    rows = [(one.id, one.severity, one.summary, one.upstream) for one in known]
    shell.say(listed("signatures", ("id", "severity", "what", "upstream"), rows, terminal=shell.on_terminal))


def _file(shell: Shell, records: list[IncidentRecord]) -> None:
    """A ledger that cannot be written must not cost the answer."""
    from pitstop.core.errors import PitstopError

    try:
        with opened_ledger(shell) as ledger:
            for record in records:
                ledger.add_incident(record)
    except PitstopError as error:
        shell.note(f"the incidents were not filed: {error.message}")


def _scan_document(findings: Findings, records: list[IncidentRecord]) -> dict[str, Any]:
    keys = (
        "signature", "summary", "first_at", "last_at", "evidence", "consequences", "advice", "upstream",
        "severity", "explained", "sources", "detail",
    )  # fmt: skip
    return {
        "schema": "pitstop.incidents",
        "version": 1,
        "incidents": [
            {"id": record.id, **{key: getattr(one, key) for key in keys}}
            for one, record in zip(findings.incidents, records, strict=True)
        ],
        "counts": _counts(findings),
        "unexplained": findings.unexplained,
        "notes": findings.notes,
    }


def _counts(findings: Findings) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in findings.incidents:
        counts[one.signature] = counts.get(one.signature, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _say_findings(shell: Shell, findings: Findings) -> None:
    known = len(findings.incidents) - findings.unexplained
    shell.say(f"{len(findings.incidents)} incident(s): {known} explained, {findings.unexplained} unexplained.")
    for signature, number in _counts(findings).items():
        shell.say(f"  {number} x {signature}")
    for one in findings.incidents:
        shell.say("")
        _say_incident(shell, one, one.signature)
    for note in findings.notes:
        shell.say(_plain(f"note: {note.text}"))


def _say_incident(shell: Shell, one: Any, title: str) -> None:
    lines = [title, f"  {one.summary}", f"  first seen: {one.first_at or 'no time in the log'}"]
    lines += [f"  | {line}" for line in one.evidence]
    lines += [f"  => {line}" for line in one.consequences]
    lines += [f"  advice: {one.advice}"] if one.advice else []
    lines += [f"  upstream: {one.upstream}"] if one.upstream else []
    for line in lines:
        shell.say(_plain(line))


def _plain(line: str) -> Any:
    from rich.text import Text

    return Text(line)
