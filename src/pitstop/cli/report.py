"""`report`: a run or a trial as tables, one HTML page, Markdown or CSV."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pitstop.cli.shell import ConfigFile, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.report.reading import Document


def register(app: typer.Typer) -> None:
    app.command("report")(report)


@guarded
def report(
    run_or_trial: Annotated[
        str,
        typer.Argument(metavar="RUN_OR_TRIAL", help="A document's file, or the id of a run or trial in the ledger."),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one self-contained page with plots.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write every sample, one per row.")] = None,
    llama_benchy: Annotated[
        Path | None,
        typer.Option("--llama-benchy", metavar="FILE", help="Write a run's decode and prefill in llama-benchy's form."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown instead of tables.")] = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Show what a run or a trial found."""
    from pitstop.report import exports

    shell = Shell(json_output, config_file)
    document = _find(run_or_trial, shell)
    if html:
        _write(html, exports.html(document, promotion=_promotion(document, shell)), shell)
    if csv:
        _write(csv, exports.csv(document), shell)
    if llama_benchy:
        _write(llama_benchy, _benchy(document), shell)
    shell.document(document)
    if not json_output:
        _show(document, shell, markdown)


def _find(name: str, shell: Shell) -> Document:
    """A file of that name, else a run, else a trial of the ledger."""
    from pitstop.core.errors import UsageError
    from pitstop.report.reading import read_document

    path = Path(name)
    if path.is_file() or "/" in name or path.suffix == ".json":
        try:
            return read_document(path.read_bytes(), name)
        except OSError as error:
            raise UsageError(f"{name} cannot be read: {error.strerror or error}.", hint="Check the path.") from error
    return _from_ledger(name, shell)


def _from_ledger(name: str, shell: Shell) -> Document:
    from pitstop.cli.ledger import opened_ledger
    from pitstop.core.errors import UsageError

    with opened_ledger(shell) as ledger:
        try:
            return ledger.trial(name)
        except UsageError as no_trial:
            try:
                return ledger.run(name)
            except UsageError as no_run:
                message = f"{no_trial.message}\n{no_run.message}"
                hint = "Name a document's file, or an id from `pitstop trial list`."
                raise UsageError(message, hint=hint) from no_run


def _promotion(document: Document, shell: Shell) -> str:
    """The edit that would promote the winner, where there is one and the file that it was made with is at hand."""
    from pitstop.core.documents import TrialDocument
    from pitstop.core.errors import UsageError
    from pitstop.report.promotion import promotion_diff
    from pitstop.report.sentences import winners

    if not isinstance(document, TrialDocument):
        return ""
    path = shell.config_path
    try:
        toml = path.read_text("utf-8")
        edits = [
            promotion_diff(toml, document.production.engine, arm.overrides, path.name) for arm in winners(document)
        ]
    except (OSError, UnicodeDecodeError, UsageError):
        return ""  # the page is about the trial; a file that has moved on since is no reason to refuse it
    return "\n\n".join(edits)


def _benchy(document: Document) -> str:
    from pitstop.core.documents import RunDocument, encode
    from pitstop.core.errors import UsageError
    from pitstop.report.llama_benchy import benchy_report

    if not isinstance(document, RunDocument):
        raise UsageError("llama-benchy's form holds one run, and this is a trial.", hint="Name one of its runs.")
    return encode(benchy_report(document)).decode()


def _write(path: Path, content: str, shell: Shell) -> None:
    from pitstop.core.durable import write_durably
    from pitstop.core.errors import UsageError

    try:
        write_durably(path, content.encode("utf-8", "replace"), mode=0o644)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}.", hint="Name a file in a folder of yours with room."
        ) from error
    shell.note(f"Wrote {path}.")


def _show(document: Document, shell: Shell, markdown: bool) -> None:
    from pitstop.cli.tables import drawn, said
    from pitstop.report import exports
    from pitstop.report.sentences import Sentence
    from pitstop.report.table import Tone

    if markdown:
        sys.stdout.write(exports.markdown(document))
        return
    shell.say(*said(exports.sentences(document)))
    for table in exports.tables(document):
        shell.say("", drawn(table, terminal=sys.stdout.isatty()))
    shell.say("", *said([Sentence(exports.closing_line(document), Tone.MUTED)]))
