"""`compare`: two run documents, one verdict per figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pitstop.cli.shell import ConfigFile, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.errors import ExitCode
    from pitstop.ledger.store import Ledger
    from pitstop.report.table import Table
    from pitstop.services.compare.measured import Key
    from pitstop.services.compare.verdicts import Comparison
    from pitstop.stats.noise import NoisePrior


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


@guarded
def compare(
    first: Annotated[Path, typer.Argument(metavar="A.json", help="What there was: a run of pitstop or another tool.")],
    second: Annotated[Path, typer.Argument(metavar="B.json", help="What is compared with it, of the same tool.")],
    minimum_effect: Annotated[
        str, typer.Option("--minimum-effect", metavar="SHARE", help="Less than this is not worth a change.")
    ] = "3 %",
    minimum_score_effect: Annotated[
        str, typer.Option("--minimum-score-effect", metavar="SHARE", help="The same for scores of task sets.")
    ] = "10 %",
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Compare two runs figure by figure: B over A."""
    from pitstop.cli.tables import drawn
    from pitstop.services.compare import measured, verdicts

    shell = Shell(json_output, config_file)
    effect = _share("--minimum-effect", minimum_effect)
    score_effect = _share("--minimum-score-effect", minimum_score_effect)
    one, other = measured.read(first), measured.read(second)
    ledger = _ledger(shell)
    try:
        comparison = verdicts.compare(
            one,
            other,
            minimum_effect=effect,
            minimum_score_effect=score_effect,
            noise=lambda *asked: _noise(ledger, *asked),
        )
    finally:
        if ledger is not None:
            ledger.close()
    shell.document(comparison)
    for warning in comparison.warnings:
        shell.note(warning.text)
    shell.say(drawn(_table(comparison), terminal=shell.on_terminal))
    shell.finish(_exit_code(comparison))


def _share(option: str, text: str) -> float:
    from pitstop.core.errors import UsageError
    from pitstop.core.units import parse_share

    try:
        return parse_share(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.") from error


def _ledger(shell: Shell) -> Ledger | None:
    """It may know this box's noise, but a comparison does not need it."""
    from pitstop.cli.ledger import ledger_if_any
    from pitstop.core.errors import PitstopError

    try:
        return ledger_if_any(shell)
    except PitstopError as error:
        shell.note(f"Compared without this box's known noise: {error.message}")
        return None


def _noise(ledger: Ledger | None, engine_kind: str, key: Key) -> NoisePrior | None:
    return None if ledger is None else ledger.noise_prior(engine_kind, *key)


def _table(comparison: Comparison) -> Table:
    from pitstop.report.labels import metric_title, row_label
    from pitstop.report.numbers import change, change_interval, percent
    from pitstop.report.table import Cell, Column, Table
    from pitstop.report.trial_tables import VERDICT_TONES, verdict_words

    titles = ("test", "figure", "change", "95 % interval", "verdict", "noise floor")
    columns = tuple(Column(title, "right" if title in titles[2:4] else "left") for title in titles)
    rows = tuple(
        (
            Cell(row_label(each.ruler, each.case)),
            Cell(metric_title(each.metric)),
            Cell(change(each.ratio)),
            Cell(change_interval(each.interval)),
            Cell(verdict_words(each.verdict), VERDICT_TONES[each.verdict]),
            Cell(percent(each.noise_floor)),
        )
        for each in comparison.verdicts
    )
    reasons = [
        f"{row_label(each.ruler, each.case)} {metric_title(each.metric)}: {each.reason}" for each in comparison.verdicts
    ]
    effects = " and ±".join(percent(effect) for effect in sorted({each.minimum_effect for each in comparison.verdicts}))
    notes = (f"Minimum effect ±{effects}; two runs are two boots, one block.", *reasons)
    return Table(f"{comparison.second} over {comparison.first}", columns, rows, notes)


def _exit_code(comparison: Comparison) -> ExitCode:
    from pitstop.core.documents import Verdict
    from pitstop.core.errors import ExitCode

    found = {each.verdict for each in comparison.verdicts}
    if Verdict.WORSE in found:
        return ExitCode.WORSE
    return ExitCode.INCONCLUSIVE if Verdict.UNDECIDED in found else ExitCode.DONE
