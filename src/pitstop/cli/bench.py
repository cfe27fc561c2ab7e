"""`bench`: measure what is there, without touching it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.documents import RunDocument
    from pitstop.rulers.ruler import Settings
    from pitstop.services.site import Site


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


@guarded
def bench(
    engine: Annotated[str | None, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")] = None,
    base_url: Annotated[str, typer.Option("--base-url", metavar="URL", help="Any OpenAI-compatible server.")] = "",
    model: Annotated[str, typer.Option("--model", metavar="M", help="The served name, with --base-url.")] = "",
    kind: Annotated[
        str, typer.Option("--kind", help="vllm, llamacpp, sglang or openai; asked of the server when left out.")
    ] = "",
    api_key_env: Annotated[str, typer.Option("--api-key-env", metavar="VAR", help="The variable with the key.")] = "",
    ruler: Annotated[str, typer.Option("--ruler", metavar="R[,R]", help="What to measure.")] = "decode,prefill",
    runs: Annotated[int, typer.Option(help="Measured requests per case.", min=1)] = 3,
    max_tokens: Annotated[int, typer.Option(help="Tokens per reply.", min=2)] = 512,
    pp: Annotated[str, typer.Option(help="Prompt sizes of prefill, in tokens.")] = "8000,30000",
    depths: Annotated[str, typer.Option(help="Prompt sizes of long-input, in tokens.")] = "8000,32000",
    concurrency: Annotated[str, typer.Option(help="Numbers of streams at once.")] = "1,8,16",
    thinking: Annotated[str, typer.Option(help="on, off, or both.")] = "off,on",
    case: Annotated[str, typer.Option(metavar="GLOB[,GLOB]", help="Only these cases, as in prose/en/*.")] = "",
    preset: Annotated[str, typer.Option(help="spark or swap: one report's whole method.")] = "",
    text: Annotated[Path | None, typer.Option("--text", metavar="FILE", help="Your own natural text.")] = None,
    beside: Annotated[str, typer.Option("--with", metavar="ENGINE[,…]", help="Engines for mutual-load.")] = "",
    seed: Annotated[int, typer.Option(help="Of nonces and whatever is drawn.")] = 1,
    via_gateway: Annotated[
        bool, typer.Option("--via-gateway", help="The whole path is measured, others' load too.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Written as the run goes.")] = None,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Measure an engine that is up. Touches nothing."""
    from pitstop.client.loop import run
    from pitstop.services.bench import Assignment

    shell = Shell(json_output, config_file)
    settings = _settings(
        runs=runs, max_tokens=max_tokens, pp=_sizes("pp", pp), depths=_sizes("depths", depths),
        concurrency=_sizes("concurrency", concurrency), thinking=tuple(_words(thinking)),
        cases=tuple(_words(case)), text=text, seed=seed,
    )  # fmt: skip
    site = run(_by_url(base_url, model, kind, api_key_env)) if base_url else _by_name(shell, engine)
    others = [_by_name(shell, name) for name in _words(beside)]
    rulers, settings = _preset(shell, preset, tuple(_words(ruler)), settings, others)
    assignment = Assignment(run_id=_run_id(), rulers=rulers, settings=settings, via_gateway=via_gateway)
    document = _measured(shell, site, others, assignment, out, run)
    _keep(shell, document)
    _tell(shell, document, out)


def _measured(
    shell: Shell, site: Site, others: list[Site], assignment: Any, out: Path | None, run: Callable[..., Any]
) -> RunDocument:
    from pitstop.services.bench import measure

    with shell.progress() as bars:
        bar = bars.add_task("", total=None)

        def progress(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        document: RunDocument = run(
            measure(site, assignment, now=lambda: datetime.now(UTC), progress=progress, save=_saver(out), others=others)
        )
    return document


def _saver(out: Path | None) -> Callable[[RunDocument], None]:
    from pitstop.core.documents import encode
    from pitstop.core.durable import write_durably
    from pitstop.core.errors import UsageError

    def save(document: RunDocument) -> None:
        if out is None:
            return
        try:
            write_durably(out, encode(document), mode=0o644)
        except OSError as error:
            raise UsageError(f"{out} cannot be written: {error.strerror}.", hint="Choose another --out.") from error

    return save


def _settings(**chosen: Any) -> Settings:
    from pitstop.core.errors import UsageError
    from pitstop.rulers.ruler import Settings

    wrong = [word for word in chosen["thinking"] if word not in ("on", "off")]
    if wrong:
        raise UsageError(f"--thinking takes on and off, not {wrong[0]!r}.")
    return Settings(**chosen)


def _preset(
    shell: Shell, name: str, rulers: tuple[str, ...], settings: Settings, others: list[Site]
) -> tuple[tuple[str, ...], Settings]:
    """A report's whole method in place of the options; what it cannot reproduce is said."""
    if not name:
        return rulers, settings
    from dataclasses import replace

    from pitstop.rulers.presets import preset_for

    preset = preset_for(name)
    shell.note(f"preset {name}: {preset.differs}")
    if not others and "mutual-load" in preset.rulers:
        shell.note("preset: mutual-load needs a second engine (--with ENGINE), so it is left out")
    fitting = tuple(ruler for ruler in preset.rulers if others or ruler != "mutual-load")
    return fitting, replace(preset.settings, text=settings.text, seed=settings.seed)


def _by_name(shell: Shell, name: str | None) -> Site:
    from pitstop.services.site import engine_named, site_of

    found, engine = engine_named(shell.config(), name)
    return site_of(found, engine, shell.home(), os.environ)


async def _by_url(base_url: str, model: str, kind: str, api_key_env: str) -> Site:
    """A server that stands in no configuration."""
    from pitstop.core.errors import UsageError
    from pitstop.services.site import site_by_url

    if not model:
        raise UsageError("--base-url needs --model: the served name that clients use.", hint="GET /v1/models lists it.")
    return await site_by_url(base_url, model, kind, api_key_env, os.environ)


def _keep(shell: Shell, document: RunDocument) -> None:
    """Into the ledger; a ledger that does not take it costs a warning, not the measurement."""
    from pitstop.cli.trial_stage import ledger_of
    from pitstop.core.errors import PitstopError

    try:
        with ledger_of(shell) as ledger:
            ledger.record_run(document)
    except PitstopError as error:
        shell.note(f"warning: the ledger did not take this run: {error.message}")


def _tell(shell: Shell, document: RunDocument, out: Path | None) -> None:
    from pitstop.cli.tables import drawn
    from pitstop.core.documents import Status
    from pitstop.core.errors import ExitCode
    from pitstop.report.run_tables import figure_tables

    shell.document(document)
    shell.say(*(drawn(table, terminal=shell.on_terminal) for table in figure_tables(document)))
    for notice in document.warnings:
        shell.note(f"warning: {notice.text}")
    shell.say(f"Run {document.id}{f', {out}' if out else ''}. All of it: pitstop report {document.id} --html FILE")
    fine = document.figures and all(figure.status is Status.OK for figure in document.figures)
    shell.finish(ExitCode.DONE if fine else ExitCode.INCONCLUSIVE)


def _run_id() -> str:
    import secrets

    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _sizes(option: str, text: str) -> tuple[int, ...]:
    from pitstop.core.errors import UsageError

    try:
        sizes = tuple(int(word) for word in _words(text))
    except ValueError as error:
        raise UsageError(f"--{option} takes whole numbers with commas between, not {text!r}.") from error
    if not sizes or min(sizes) < 1:
        raise UsageError(f"--{option} takes numbers above zero, not {text!r}.")
    return sizes
