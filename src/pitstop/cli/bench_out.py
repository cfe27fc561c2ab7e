"""Where a run goes: `--out` while it is measured, the ledger and the terminal when it is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.cli.shell import Shell

if TYPE_CHECKING:
    from pitstop.core.documents import RunDocument


def interrupted_run(shell: Shell, out: Path | None) -> RunDocument | None:
    """The run in `--out` that is to go on; None when nothing was written yet. UsageError for what is no run."""
    from pitstop.core.documents import RunDocument
    from pitstop.core.errors import UsageError
    from pitstop.report.reading import read_document

    if out is None:
        raise UsageError("--resume needs --out: the file of the run that goes on.")
    try:
        content = out.read_bytes()
    except FileNotFoundError:
        shell.note(f"{out} does not exist, so this is a new run")
        return None
    except OSError as error:
        raise UsageError(f"{out} cannot be read: {error.strerror}.", hint="Give the file that --out wrote.") from error
    document = read_document(content, str(out))
    if not isinstance(document, RunDocument):
        raise UsageError(f"{out} holds a trial, not a run.", hint="A trial goes on with `pitstop trial recover`.")
    return document


def saver(out: Path | None, *, resuming: bool) -> Callable[[RunDocument], None]:
    """Writes the run to `out` whenever it is called. An older file stands until the first ruler is done."""
    from pitstop.core.documents import encode
    from pitstop.core.durable import write_durably
    from pitstop.core.errors import UsageError

    def save(document: RunDocument) -> None:
        if out is None:
            return
        try:
            if document.figures or document.tasks or resuming or not out.exists():
                write_durably(out, encode(document), mode=0o644)
            elif not os.access(out, os.W_OK):
                raise PermissionError(13, "it is not writable")
        except OSError as error:
            raise UsageError(f"{out} cannot be written: {error.strerror}.", hint="Choose another --out.") from error

    return save


def tell(shell: Shell, document: RunDocument, out: Path | None) -> None:
    """The document and its tables; ends the command with its exit code."""
    from pitstop.cli.tables import drawn
    from pitstop.core.documents import Status
    from pitstop.core.errors import ExitCode
    from pitstop.report.run_tables import figure_tables

    _keep(shell, document)
    shell.document(document)
    shell.say(*(drawn(table, terminal=shell.on_terminal) for table in figure_tables(document)))
    for notice in document.warnings:
        shell.note(f"warning: {notice.text}")
    shell.say(
        f"Run {document.id}{f', {out}' if out else ''}. All of it: pitstop report {out or document.id} --html FILE"
    )
    fine = document.figures and all(figure.status is Status.OK for figure in document.figures)
    shell.finish(ExitCode.DONE if fine else ExitCode.INCONCLUSIVE)


def _keep(shell: Shell, document: RunDocument) -> None:
    """Into the ledger; a ledger that does not take it costs a warning, not the measurement."""
    from pitstop.cli.ledger import opened_ledger
    from pitstop.core.errors import PitstopError

    try:
        with opened_ledger(shell) as ledger:
            ledger.record_run(document)
    except PitstopError as error:
        shell.note(f"warning: the ledger did not take this run: {error.message}")
