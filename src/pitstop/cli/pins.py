"""`pitstop pins`: images by digest."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from pitstop.cli.ledger import opened_ledger
from pitstop.cli.pin_supply import keep_pin, supply_of
from pitstop.cli.shell import ConfigFile, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.errors import ExitCode
    from pitstop.supply.pins import PinReport


def register(app: typer.Typer) -> None:
    from pitstop.cli.pin_changes import mirror, rollback, set_

    room = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Images by digest.")
    for name, command in (
        ("check", check),
        ("set", set_),
        ("mirror", mirror),
        ("rollback", rollback),
        ("lock", lock),
        ("history", history),
    ):
        room.command(name)(command)
    app.add_typer(room, name="pins")


@guarded
def check(
    engines: Annotated[list[str] | None, typer.Argument(metavar="ENGINE", help="All of them when left out.")] = None,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Ask the registries whether each tag still points at the pinned digest. Changes nothing."""
    from pitstop.cli.tables import listed
    from pitstop.client.loop import run
    from pitstop.services.site import engine_named
    from pitstop.supply.pins import check as look

    shell = Shell(json_output, config_file)
    config = shell.config()
    chosen = dict(engine_named(config, name) for name in engines) if engines else config.engine
    reports = run(look(chosen, supply_of(config)))
    shell.document({"schema": "pitstop.pins", "version": 1, "pins": reports})
    rows = [(one.engine, one.status, one.image, one.reason) for one in reports]
    shell.say(listed("pins", ("engine", "status", "image", "why"), rows, terminal=shell.on_terminal))
    without = [name for name in chosen if name not in {one.engine for one in reports}]
    if without:
        shell.note(f"no image of its own in pitstop.toml: {', '.join(without)}")
    shell.finish(_exit_code(reports))


@guarded
def lock(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")],
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Record what runs now: digests, the version inside, patches, driver, kernel."""
    from pitstop.client.loop import run
    from pitstop.core.errors import EngineFailed
    from pitstop.services.site import engine_named, site_of
    from pitstop.supply.lock import locked

    shell = Shell(json_output, config_file)
    config = shell.config()
    _, chosen = engine_named(config, engine)
    site = site_of(engine, chosen, shell.home(), os.environ)
    record = run(locked(site.launcher, site.spec, config.patch, supply_of(config), datetime.now(UTC)))
    if record is None:
        raise EngineFailed(f"engine {engine} is not up, so there is nothing to record.", hint=f"pitstop up {engine}")
    keep_pin(shell, record)
    shell.document(record)
    for field in ("image", "digest", "platform_digest", "engine_version", "patches", "driver", "kernel"):
        value = getattr(record, field)
        shown = ", ".join(value) if isinstance(value, tuple) else value
        shell.say(f"{field.replace('_', ' ')}: {shown or 'not known'}")


@guarded
def history(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml.")],
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """List what an engine was pinned to, the latest first."""
    from pitstop.cli.tables import listed

    shell = Shell(json_output, config_file)
    with opened_ledger(shell) as ledger:
        records = ledger.pins(engine)
    shell.document({"engine": engine, "pins": records})
    rows = [(one.at[:19], one.action, one.image, one.engine_version or "") for one in records]
    shell.say(listed("pins", ("at", "action", "image", "version inside"), rows, terminal=shell.on_terminal))


def _exit_code(reports: list[PinReport]) -> ExitCode:
    from pitstop.core.errors import ExitCode
    from pitstop.decisions.pins import DRIFT, PinStatus

    seen = {PinStatus(one.status) for one in reports}
    if seen & set(DRIFT):
        return ExitCode.WORSE
    if PinStatus.UNKNOWN in seen:
        return ExitCode.UNREACHABLE
    return ExitCode.INCONCLUSIVE if PinStatus.UNVERIFIABLE in seen else ExitCode.DONE
