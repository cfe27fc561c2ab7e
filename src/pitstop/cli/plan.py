"""`pitstop plan`: does it fit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from rich.table import Table

    from pitstop.core.config.schema import Config
    from pitstop.core.home import Home
    from pitstop.decisions.plan import Footprint, Plan

_PARTS = ("weights", "kv", "budget", "context", "draft", "host")


def register(app: typer.Typer) -> None:
    app.command("plan")(plan)


@guarded
def plan(
    engines: Annotated[
        list[str] | None,
        typer.Argument(help="Engines to add up; without any, those in production.", show_default=False),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="ENGINE.KNOB=VALUE", help="Plan with a knob turned.")
    ] = None,
    total: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory of the device; the box's own by default.", show_default=False),
    ] = None,
    system: Annotated[str, typer.Option(metavar="SIZE", help="What the system itself takes.")] = "4 GiB",
    procfs: Annotated[str, typer.Option(metavar="DIR", help="Read meminfo below this folder.")] = "/proc",
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Add up what engines take, at their start and when they serve; says no with numbers (exit 1)."""
    from pathlib import Path

    from rich.markup import escape

    from pitstop.core.errors import ExitCode, UsageError
    from pitstop.decisions.plan import plan as decide
    from pitstop.engines.procfs import read_memory

    shell = Shell(json_output, config_file)
    config, home = shell.config(), shell.home()
    memory = read_memory(Path(procfs))
    total_bytes = _size("--total", total) if total else memory.total_bytes
    if total_bytes is None:
        raise UsageError(f"{procfs}/meminfo does not say how much memory there is.", hint="Give it: --total 121.7GiB")
    made = decide(
        _footprints(config, home, engines or [], set_ or [], total_bytes),
        total_bytes=total_bytes,
        floor_bytes=int(config.host.min_available),
        system_bytes=_size("--system", system),
        free_bytes=memory.free_bytes if total is None else None,
    )
    shell.document(_document(made))
    shell.say(_table(made), *(escape(line) for line in _words(made)))
    if made.fits is not True:
        shell.finish(ExitCode.WORSE if made.fits is False else ExitCode.INCONCLUSIVE)


def _footprints(config: Config, home: Home, named: list[str], turned: list[str], total_bytes: int) -> list[Footprint]:
    from pitstop.core.errors import UsageError
    from pitstop.launch.plan import plan as launch_plan
    from pitstop.services.plan.facts import facts_of
    from pitstop.services.plan.footprint import footprint
    from pitstop.services.site import engine_named

    names = named or [name for name, one in config.engine.items() if one.production] or list(config.engine)
    if not names:
        raise UsageError("There is no engine to plan for.", hint="Add one to pitstop.toml; `pitstop init` shows how.")
    overrides = _overrides(turned, names)
    found = []
    for name in dict.fromkeys(names):
        engine = engine_named(config, name)[1]
        spec = launch_plan(name, engine, overrides[name], environ=os.environ) if engine.launch else None
        # A log of the defaults says nothing of a variant.
        facts = facts_of(spec, home, changed=bool(overrides[name]))
        found.append(footprint(name, engine, spec, facts, home, device_bytes=total_bytes))
    return found


def _overrides(turned: list[str], names: list[str]) -> dict[str, dict[str, str]]:
    from pitstop.core.errors import UsageError

    overrides: dict[str, dict[str, str]] = {name: {} for name in names}
    for one in turned:
        where, equals, value = one.partition("=")
        engine, dot, knob = where.rpartition(".")
        engine = engine if dot else names[0]
        if not equals or engine not in overrides:
            raise UsageError(f"--set {one} is not ENGINE.KNOB=VALUE.", hint=f"Engines here: {', '.join(names)}.")
        overrides[engine][knob] = value
    return overrides


def _document(made: Plan) -> dict[str, Any]:
    from dataclasses import asdict

    engines = [
        {**asdict(one), "steady_bytes": one.steady_bytes, "start_bytes": one.start_bytes} for one in made.engines
    ]
    return {
        "schema": "pitstop.plan",
        "version": 1,
        **asdict(made),
        "engines": engines,
        "margin_bytes": made.margin_bytes,
    }


def _table(made: Plan) -> Table:
    from rich.table import Table

    table = Table("engine", *_PARTS, "start", "steady", box=None)
    for one in made.engines:
        table.add_row(one.engine, *(_gib(getattr(one, f"{part}_bytes")) for part in _PARTS), _gib(one.start_bytes),
                      _gib(one.steady_bytes))  # fmt: skip
    table.add_row("all", *("" for _ in _PARTS), _gib(made.start_bytes), _gib(made.steady_bytes))
    return table


def _words(made: Plan) -> list[str]:
    from pitstop.decisions.plan import gib

    head = f"of {gib(made.total_bytes)} ({made.total_bytes / 1e9:.1f} GB), {gib(made.system_bytes)} for the system"
    if made.available_bytes is not None and made.margin_bytes is not None:
        head += (
            f": {gib(made.available_bytes)} available with everything up, {gib(made.margin_bytes)} above the guard's "
            f"floor of {gib(made.floor_bytes)}"
        )
    verdict = {True: "It fits.", False: "It does not fit:", None: "It cannot be said whether it fits:"}[made.fits]
    return [head, verdict, *(f"  {one}" for one in made.reasons), *(f"note: {one}" for one in made.warnings)]


def _gib(size_bytes: int | None) -> str:
    return "-" if size_bytes is None else f"{size_bytes / 2**30:.1f}"


def _size(option: str, text: str) -> int:
    from pitstop.core.errors import UsageError
    from pitstop.core.units import parse_size

    try:
        return int(parse_size(text))
    except ValueError as error:
        raise UsageError(f"{option}: {error}.", hint="128 GB are 119.2 GiB.") from error
