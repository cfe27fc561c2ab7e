"""`pitstop incidents verdict`, `compare` and `count`: is it fixed, is this one better, how was the last while."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.incident_words import said, tell, window_record
from pitstop.cli.ledger import opened_ledger
from pitstop.cli.shell import ConfigFile, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.services.incidents.counts import Halves
    from pitstop.stats.rates import Window

Signature = Annotated[str | None, typer.Argument(metavar="SIGNATURE", help="Count only this kind.")]
Now = Annotated[str | None, typer.Option("--now", metavar="TIME", help="Count until then instead of now.")]
EngineOption = Annotated[str | None, typer.Option("--engine", help="Count only this engine.")]
Before = Annotated[int | None, typer.Option("--before", min=0, metavar="N", help="Events before the change.")]
In = Annotated[str | None, typer.Option("--in", metavar="72d", help="The time in which they happened.")]
Confidence = Annotated[float, typer.Option("--confidence", min=0.5, max=0.9999, help="Of bounds and of the verdict.")]


@guarded
def verdict(
    signature: Signature = None,
    before: Before = None,
    in_: In = None,
    clean_since: Annotated[
        str | None, typer.Option("--clean-since", metavar="TIME", help="Nothing happened since then.")
    ] = None,
    after: Annotated[int | None, typer.Option("--after", min=0, metavar="N", help="Events after the change.")] = None,
    over: Annotated[str | None, typer.Option("--over", metavar="22d", help="The time since the change.")] = None,
    changed_at: Annotated[
        str | None, typer.Option("--changed-at", metavar="TIME", help="When it was changed; the ledger counts.")
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Count in the ledger from then.")] = None,
    engine: EngineOption = None,
    now: Now = None,
    confidence: Confidence = 0.95,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Is it fixed? Open, promising, supported or reopened: from counts that you give, or from the ledger."""
    from pitstop.services.incidents.counts import Halves, moment

    shell = Shell(json_output, config_file)
    until = moment(now) if now else datetime.now(UTC)
    given = (before, in_, clean_since, after, over)
    if any(value is not None for value in given):
        windows = _given(before, in_, clean_since, after, over, until)
        changed = moment(clean_since) if clean_since else _before(until, windows[1].exposure, "--over")
        found = Halves(*windows, changed, "given")
    else:
        found = _counted(shell, signature, engine, since, changed_at, until)
    tell(shell, found, until, signature, confidence)


@guarded
def count(
    signature: Signature = None,
    over: Annotated[str, typer.Option("--over", metavar="4d", help="The last while that is counted.")] = "4d",
    before: Before = None,
    in_: In = None,
    engine: EngineOption = None,
    now: Now = None,
    confidence: Confidence = 0.95,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Count the last days, four as in the first report, against the time before or --before N --in D."""
    from dataclasses import replace

    from pitstop.core.units import parse_duration
    from pitstop.services.incidents.counts import DAY_S, moment

    shell = Shell(json_output, config_file)
    until = moment(now) if now else datetime.now(UTC)
    changed = _before(until, _quantity(parse_duration, over, "--over") / DAY_S, "--over")
    found = _counted(shell, signature, engine, None, changed.isoformat(), until)
    if before is not None or in_ is not None:
        found = replace(found, before=_window(before, in_, "--before", "--in"))
    tell(shell, found, until, signature, confidence)


@guarded
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A configuration's key, or a count such as 2/72d.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Likewise.")],
    signature: Annotated[str | None, typer.Option("--signature", help="Count only this kind.")] = None,
    confidence: Confidence = 0.95,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Compare two rates by the exact conditional test."""
    from pitstop.core.errors import ExitCode, UsageError
    from pitstop.stats.rates import compare_rates

    shell = Shell(json_output, config_file)
    windows = [_side(shell, text, signature) for text in (first, second)]
    try:
        result = compare_rates(*windows, confidence=confidence)
    except ValueError as error:
        raise UsageError(f"{error}.", hint="Both sides need time in which something could have happened.") from error
    low, high = result.interval
    decided = result.p_value <= 1 - confidence
    word = "undecided" if not decided else "worse" if low > 1 else "better"
    shell.document(
        {"first": window_record(windows[0], confidence), "second": window_record(windows[1], confidence),
         "ratio": result.ratio, "interval": [low, None if math.isinf(high) else high], "p_value": result.p_value,
         "verdict": word, "confidence": confidence}
    )  # fmt: skip
    ratio = "unknown" if result.ratio is None else f"{result.ratio:.2f}"
    shell.say(f"A: {said(windows[0])}   B: {said(windows[1])}")
    shell.say(f"B's rate over A's: {ratio} ({low:.2f} to {high:.2f}), p = {result.p_value:.3g}: B is {word}.")
    shell.finish({"worse": ExitCode.WORSE, "undecided": ExitCode.INCONCLUSIVE}.get(word, ExitCode.DONE))


def _given(
    before: int | None, in_: str | None, clean_since: str | None, after: int | None, over: str | None, now: datetime
) -> tuple[Window, Window]:
    from pitstop.core.errors import UsageError
    from pitstop.services.incidents.counts import DAY_S, moment
    from pitstop.stats.rates import Window

    first = _window(before, in_, "--before", "--in")
    if clean_since is None:
        return first, _window(0 if after is None else after, over, "--after", "--over")
    if over is not None or after:
        raise UsageError("--clean-since means no event since then.", hint="Leave out --after and --over, or use those.")
    days = (now - moment(clean_since)).total_seconds() / DAY_S
    if days < 0:
        raise UsageError(f"--clean-since {clean_since} lies after now ({now:%Y-%m-%d}).", hint="Check --now.")
    return first, Window(0, days)


def _before(now: datetime, days: float, name: str) -> datetime:
    from pitstop.core.errors import UsageError

    try:
        return now - timedelta(days=days)
    except OverflowError as error:
        raise UsageError(f"{name}: {days:.0f} days ago there was no calendar.") from error


def _window(events: int | None, text: str | None, name: str, time_name: str) -> Window:
    from pitstop.core.errors import UsageError
    from pitstop.core.units import parse_duration
    from pitstop.services.incidents.counts import DAY_S
    from pitstop.stats.rates import Window

    if events is None or text is None:
        missing, other = (name, time_name) if events is None else (time_name, name)
        hint = "As in --before 2 --in 72d --clean-since 2026-09-27."
        raise UsageError(f"{other} needs {missing} beside it.", hint=hint)
    try:
        return Window(events, _quantity(parse_duration, text, time_name) / DAY_S)
    except ValueError as error:
        raise UsageError(f"{name} and {time_name}: {error}.") from error


def _quantity(parse: Any, text: str, name: str) -> float:
    from pitstop.core.errors import UsageError

    try:
        return float(parse(text))
    except ValueError as error:
        raise UsageError(f"{name}: {error}.") from error


def _counted(
    shell: Shell, signature: str | None, engine: str | None, since: str | None, changed_at: str | None, now: datetime
) -> Halves:
    from pitstop.services.incidents.counts import halves, moment

    with opened_ledger(shell) as ledger:
        return halves(
            ledger,
            signature=signature,
            engine=engine,
            since=moment(since) if since else None,
            changed_at=moment(changed_at) if changed_at else None,
            now=now,
        )


def _side(shell: Shell, text: str, signature: str | None) -> Window:
    from pitstop.services.incidents.counts import of_configuration

    events, slash, time = text.partition("/")
    if slash and events.isdigit():
        return _window(int(events), time, "events", "time")
    with opened_ledger(shell) as ledger:
        return of_configuration(ledger, text, signature)
