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
    from pitstop.core.config.host import Host
    from pitstop.core.config.schema import Config
    from pitstop.core.documents import RunDocument
    from pitstop.rulers.presets import Preset
    from pitstop.services.assignment import Assignment
    from pitstop.services.site import Site


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


@guarded
def bench(
    context: typer.Context,
    engine: Annotated[str | None, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")] = None,
    base_url: Annotated[str, typer.Option("--base-url", metavar="URL", help="Any OpenAI-compatible server.")] = "",
    model: Annotated[str, typer.Option("--model", metavar="M", help="The served name, with --base-url.")] = "",
    kind: Annotated[
        str, typer.Option("--kind", help="vllm, llamacpp, sglang or openai; asked of the server when left out.")
    ] = "",
    api_key_env: Annotated[str, typer.Option("--api-key-env", metavar="VAR", help="The variable with the key.")] = "",
    ruler: Annotated[str, typer.Option("--ruler", metavar="R[,R]", help="What to measure.")] = "decode,prefill",
    preset: Annotated[
        str, typer.Option(help="spark or swap: one report's whole method, under whatever else is given.")
    ] = "",
    runs: Annotated[int, typer.Option(help="Measured requests per case.", min=1)] = 3,
    max_tokens: Annotated[int, typer.Option("--max-tokens", "--tg", help="Tokens per reply.", min=2)] = 512,
    pp: Annotated[str, typer.Option(help="Prompt sizes of prefill, in tokens.")] = "8000,30000",
    depths: Annotated[
        str, typer.Option("--depths", "--depth", help="Prompt sizes of long-input, in tokens.")
    ] = "8000,32000",
    concurrency: Annotated[str, typer.Option(help="Numbers of streams at once.")] = "1,8,16",
    thinking: Annotated[str, typer.Option(help="on, off, or both.")] = "off,on",
    cases: Annotated[str, typer.Option("--case", metavar="GLOB[,GLOB]", help="Only these, as in prose/en/*.")] = "",
    prompt_order: Annotated[str, typer.Option(help="rotate: a new prompt each run; first: always the first.")] = (
        "rotate"
    ),
    temperature: Annotated[float, typer.Option(help="Of every request but those of quality.", min=0.0)] = 0.0,
    text: Annotated[Path | None, typer.Option("--text", metavar="FILE", help="Your own natural text.")] = None,
    budgets: Annotated[str, typer.Option(help="Thinking budgets in tokens; none sends none.")] = (
        "none,512,768,1024,1536"
    ),
    thinking_max_tokens: Annotated[int, typer.Option(help="Tokens per reply of the thinking ruler.", min=2)] = 2048,
    system_prompt: Annotated[str, typer.Option(help="Whose effect on the language the thinking ruler shows.")] = "",
    beside: Annotated[str, typer.Option("--with", metavar="ENGINE[,…]", help="Engines for mutual-load.")] = "",
    seed: Annotated[int, typer.Option(help="Of nonces and whatever is drawn.")] = 1,
    request_timeout_s: Annotated[str, typer.Option("--request-timeout", metavar="TIME", help="As in 10 min.")] = (
        "10 min"
    ),
    repeat_disturbed: Annotated[int, typer.Option(help="How often, when others disturbed a ruler.", min=0)] = 2,
    repeats: Annotated[int | None, typer.Option(help="quality: attempts at each task.", min=1)] = None,
    parallel: Annotated[
        int | None, typer.Option(help="quality: requests at once. Changes the time, not the answers.", min=1)
    ] = None,
    language: Annotated[str | None, typer.Option(help="quality: en, de, or both (half of the tasks in each).")] = None,
    tasks: Annotated[str | None, typer.Option(metavar="DIR", help="quality: your own tasks instead of the 28.")] = None,
    quality_temperature: Annotated[float | None, typer.Option(help="0.6 unless configured.", min=0.0)] = None,
    quality_max_tokens: Annotated[int | None, typer.Option(help="32000 unless configured.", min=16)] = None,
    quality_thinking: Annotated[str | None, typer.Option(help="on or off; on unless configured.")] = None,
    via_gateway: Annotated[
        bool, typer.Option("--via-gateway", help="The whole path is measured, others' load too.")
    ] = False,
    memory_bandwidth: Annotated[str, typer.Option(metavar="RATE", help="As in 273 GB/s: decode's ceiling.")] = "",
    active_weights: Annotated[str, typer.Option(metavar="SIZE", help="Weights that one token reads.")] = "",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Written as the run goes.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out, if there is one.")] = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Measure an engine that is up. Touches nothing."""
    from dataclasses import replace

    from pitstop.cli.bench_options import settings_of, words
    from pitstop.cli.bench_out import interrupted_run, tell
    from pitstop.cli.bench_quality import quality_of
    from pitstop.services.assignment import Assignment

    shell = Shell(json_output, config_file)
    interrupted = interrupted_run(shell, out) if resume else None
    others = [_by_name(shell, name) for name in words(beside)]
    method = _preset(shell, preset)
    options = {
        "runs": runs, "max_tokens": max_tokens, "pp": pp, "depths": depths, "concurrency": concurrency, "seed": seed,
        "thinking": thinking, "cases": cases, "prompt_order": prompt_order, "temperature": temperature, "text": text,
        "budgets": budgets, "thinking_max_tokens": thinking_max_tokens, "system_prompt": system_prompt,
        "request_timeout_s": request_timeout_s,
    }  # fmt: skip
    settings = settings_of(options, _given(context), method)
    rulers = _rulers(shell, ruler, "ruler" in _given(context), method, others)
    asked = {
        "repeats": repeats, "parallel": parallel, "language": language, "tasks": tasks,
        "quality_temperature": quality_temperature, "quality_max_tokens": quality_max_tokens,
        "quality_thinking": quality_thinking,
    }  # fmt: skip
    if not base_url or "quality" in rulers:  # a server given by its URL needs no pitstop.toml, were it wrong
        settings = replace(settings, quality=quality_of(shell.config_or_empty().quality, asked, method))
    site = _site(shell, engine, base_url, model, kind, api_key_env, active_weights)
    assignment = Assignment(
        run_id=_run_id(),
        rulers=rulers,
        settings=settings,
        via_gateway=via_gateway,
        repeats=repeat_disturbed,
        host=_host(shell, memory_bandwidth, configured=not base_url),
    )
    try:
        document = _measured(shell, site, others, assignment, out, interrupted)
    except KeyboardInterrupt:
        if out is not None:
            shell.note(f"the rulers that were done are in {out}; the same command with --resume goes on")
        raise
    tell(shell, document, out)


def _given(context: typer.Context) -> set[str]:
    """The options that were given by hand; the rest may come from a preset."""
    sources = ((name, context.get_parameter_source(name)) for name in context.params)
    return {name for name, source in sources if source is not None and source.name != "DEFAULT"}


def _measured(
    shell: Shell,
    site: Site,
    others: list[Site],
    assignment: Assignment,
    out: Path | None,
    interrupted: RunDocument | None,
) -> RunDocument:
    from pitstop.cli.bench_out import saver
    from pitstop.client.loop import run
    from pitstop.services.bench import measure
    from pitstop.services.neighbours import neighbours_of

    save = saver(out, resuming=interrupted is not None)
    with shell.progress() as bars:
        bar = bars.add_task("", total=None)

        def progress(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        return run(
            measure(
                site, assignment, now=lambda: datetime.now(UTC), progress=progress, save=save, others=others,
                neighbours=neighbours_of(_configured(shell), shell.home(), os.environ, [site, *others]),
                interrupted=interrupted,
            )
        )  # fmt: skip


def _rulers(shell: Shell, ruler: str, given: bool, method: Preset | None, others: list[Site]) -> tuple[str, ...]:
    from pitstop.cli.bench_options import words
    from pitstop.core.errors import UsageError

    if method is None or given:
        if not words(ruler):
            raise UsageError("--ruler names no ruler.", hint="As in --ruler decode,prefill.")
        return tuple(words(ruler))
    if not others and "mutual-load" in method.rulers:
        shell.note("preset: mutual-load needs a second engine (--with ENGINE), so it is left out")
    return tuple(name for name in method.rulers if others or name != "mutual-load")


def _preset(shell: Shell, name: str) -> Preset | None:
    """A report's whole method; what it cannot reproduce is said."""
    if not name:
        return None
    from pitstop.rulers.presets import preset_for

    preset = preset_for(name)
    shell.note(f"preset {name}: {preset.differs}")
    return preset


def _site(
    shell: Shell, engine: str | None, base_url: str, model: str, kind: str, api_key_env: str, active_weights: str
) -> Site:
    from dataclasses import replace

    import msgspec

    from pitstop.client.loop import run
    from pitstop.core.units import parse_size

    site = run(_by_url(base_url, model, kind, api_key_env)) if base_url else _by_name(shell, engine)
    if not active_weights:
        return site
    told = msgspec.structs.replace(
        site.config.footprint, active_weights=_read("--active-weights", parse_size, active_weights)
    )
    return replace(site, config=msgspec.structs.replace(site.config, footprint=told))


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


def _configured(shell: Shell) -> Config:
    """For a server given by its URL a configuration that is missing or wrong is none, for nothing rests on it."""
    from pitstop.core.config.schema import Config
    from pitstop.core.errors import ConfigError

    try:
        return shell.config_or_empty()
    except ConfigError:
        return Config()


def _host(shell: Shell, memory_bandwidth: str, *, configured: bool) -> Host:
    """The configured box, or the one that the options tell of: a server given by its URL may stand on another."""
    from pitstop.core.config.host import Host
    from pitstop.core.units import parse_bandwidth

    if memory_bandwidth:
        _read("--memory-bandwidth", parse_bandwidth, memory_bandwidth)
        return Host(memory_bandwidth=memory_bandwidth)
    return shell.config().host if configured else Host()


def _read(option: str, reader: Callable[[str], Any], text: str) -> Any:
    from pitstop.core.errors import UsageError

    try:
        return reader(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.") from error


def _run_id() -> str:
    import secrets

    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
