"""`up`, `down`, `restart`, `status`, `logs`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pitstop.launch.launcher import LaunchSpec, Running
    from pitstop.services.lifecycle import Guarded
    from pitstop.services.site import Site

    Start = Callable[..., Coroutine[Any, Any, Running]]

EngineName = Annotated[
    str | None, typer.Argument(metavar="ENGINE", help="Its name in pitstop.toml; production's when left out.")
]
NoGuard = Annotated[
    bool, typer.Option("--no-guard", help="Start without the memory guard, also what has never served here before.")
]
Setting = Annotated[list[str] | None, typer.Option("--set", metavar="KNOB=VALUE", help="Turn a knob for this launch.")]


def register(app: typer.Typer) -> None:
    app.command("up")(up)
    app.command("down")(down)
    app.command("restart")(restart)
    app.command("status")(status)
    app.command("logs")(logs)


@guarded
def up(
    engine: EngineName = None,
    settings: Setting = None,
    no_guard: NoGuard = False,
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Start an engine and wait until it serves."""
    from pitstop.services.lifecycle import up as start

    _launched(Shell(json_output, config_file), engine, settings, "start", start, no_guard=no_guard, dry_run=dry_run)


@guarded
def down(
    engine: EngineName = None, dry_run: DryRun = False, json_output: JsonFlag = False, config_file: ConfigFile = None
) -> None:
    """Stop an engine, children included."""
    from pitstop.client.loop import run
    from pitstop.services.lifecycle import down as stop

    shell = Shell(json_output, config_file)
    site, spec = site_and_spec(shell, engine, None)
    if dry_run:
        _show_launch(shell, spec, "would stop")
        return
    with waiting(shell) as say:
        was_up = run(stop(site, shell.home(), steady_s=time.monotonic, say=say))
    shell.document({"engine": site.name, "up": False, "was_up": was_up})
    shell.say(f"{site.name} is down." if was_up else f"{site.name} was down already.")


@guarded
def restart(
    engine: EngineName = None,
    settings: Setting = None,
    no_guard: NoGuard = False,
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Stop an engine and start it with its defaults, or with --set."""
    from pitstop.services.lifecycle import restart as again

    _launched(Shell(json_output, config_file), engine, settings, "restart", again, no_guard=no_guard, dry_run=dry_run)


def _launched(
    shell: Shell,
    engine: str | None,
    settings: list[str] | None,
    verb: str,
    start: Start,
    *,
    no_guard: bool,
    dry_run: bool,
) -> None:
    """Bring an engine up, under a guard where it never served here before, and say what came of it."""
    from pitstop.client.loop import run

    site, spec = site_and_spec(shell, engine, settings)
    if dry_run:
        _show_launch(shell, spec, f"would {verb}")
        return
    with waiting(shell) as say:
        guarded = _guarded(shell, no_guard)
        _refuse_unfit_patches(shell, spec)
        running = run(start(site, shell.home(), spec, steady_s=time.monotonic, say=say, guarded=guarded))
    _tell_wrong_patches(shell, site, spec)
    shell.document({"engine": site.name, "up": True, "running": running})
    shell.say(f"{site.name} is up: pid {running.pid}, fingerprint {running.fingerprint}, {site.endpoint.base_url}")


@guarded
def status(json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
    """Show what is up, where the memory goes, who holds the lease, and whether anything is owed."""
    from pitstop.cli.status_tables import memory_lines, status_record, status_table
    from pitstop.client.loop import run
    from pitstop.decisions.lease import Standing
    from pitstop.services.lease import lease_standing
    from pitstop.services.lifecycle import status as look
    from pitstop.services.memory_table import memory_table
    from pitstop.services.site import site_of
    from pitstop.services.trial.folder import owed

    shell = Shell(json_output, config_file)
    config, home = shell.config(), shell.home()
    seen = [run(look(site_of(name, engine, home, os.environ))) for name, engine in config.engine.items()]
    memory = run(memory_table({one.name: one.running for one in seen}, int(config.host.min_available)))
    lease, standing = lease_standing(home, time.monotonic())
    debts = [folder.id for folder in owed(home)]
    shell.document(
        {
            "engines": [status_record(one) for one in seen],
            "memory": memory,
            "lease": {"standing": standing.value, "purpose": lease.purpose if lease else None},
            "owed": debts,
        }
    )
    shell.say(status_table(seen, terminal=shell.on_terminal), "", *memory_lines(memory, terminal=shell.on_terminal))
    if lease is not None:
        shell.say(f"Lease: {standing.value}, {lease.purpose} (process {lease.holder.pid}).")
    for debt in debts:
        is_under_way = standing is Standing.HELD and lease is not None and lease.trial == debt
        owes = "is under way: pitstop trial status" if is_under_way else "owes a restore: pitstop trial recover"
        shell.say(f"Trial {debt} {owes}")


@guarded
def logs(
    engine: EngineName = None,
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as lines come; Ctrl-C ends.")] = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Show the end of an engine's log, kept across restarts."""
    import sys

    from pitstop.client.loop import run
    from pitstop.core.errors import UsageError

    shell = Shell(json_output, config_file)
    site, spec = site_and_spec(shell, engine, None)
    assert site.launcher is not None
    tail = run(site.launcher.log_tail(spec, lines))
    path = site.launcher.log_path(spec)
    shell.document({"engine": site.name, "path": str(path) if path else None, "lines": tail})
    if not json_output:
        sys.stdout.write("".join(f"{line}\n" for line in tail))
    if follow:
        if path is None:
            raise UsageError(f"the log of {site.name} is kept by its container engine.", hint="Use its own `logs -f`.")
        _follow(path)


def _follow(path: Path) -> None:
    import sys

    with path.open("r", encoding="utf-8", errors="replace") as stream:
        stream.seek(0, os.SEEK_END)
        while True:
            text = stream.read()
            if text:
                sys.stdout.write(text)
                sys.stdout.flush()
            else:
                time.sleep(0.3)


def site_and_spec(shell: Shell, engine: str | None, settings: list[str] | None) -> tuple[Site, LaunchSpec]:
    from pitstop.core.errors import UsageError
    from pitstop.launch.plan import plan
    from pitstop.services.site import engine_named, site_of

    name, chosen = engine_named(shell.config(), engine)
    site = site_of(name, chosen, shell.home(), os.environ)
    overrides: dict[str, str] = {}
    for setting in settings or []:
        knob, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting} has no value.", hint="Write it as --set KNOB=VALUE.")
        overrides[knob] = value
    return site, plan(name, chosen, overrides, environ=os.environ)


def _guarded(shell: Shell, no_guard: bool) -> Guarded:
    """A memory guard around the first start of a configuration, unless it was switched off."""
    from pitstop.services.first_start import FirstStart
    from pitstop.services.lifecycle import unguarded

    return unguarded if no_guard else FirstStart(shell.home(), shell.config().host, shell.config_path)


def _refuse_unfit_patches(shell: Shell, spec: LaunchSpec) -> None:
    from pitstop.client.loop import run
    from pitstop.supply.patch_launch import refuse_unfit

    run(refuse_unfit(shell.config().patch, spec))


def _tell_wrong_patches(shell: Shell, site: Site, spec: LaunchSpec) -> None:
    """What is mounted over an image must be made for it, and be what the engine's Python imports. It is up by now."""
    from pitstop.client.loop import run
    from pitstop.core.errors import PitstopError
    from pitstop.supply.patch_launch import imported, problems

    patches = {name: patch for name, patch in shell.config().patch.items() if patch.engine == site.name}
    if not patches or site.launcher is None:
        return
    try:
        found = run(site.launcher.container(spec))
        for problem in problems(run(imported(patches, spec, found))) if found else ():
            shell.note(problem)
    except PitstopError as error:
        shell.note(f"whether {', '.join(patches)} is in force could not be looked up: {error.message}")


def _show_launch(shell: Shell, spec: LaunchSpec, verb: str) -> None:
    import shlex

    shell.document({"engine": spec.engine, "dry_run": True, "fingerprint": spec.fingerprint, "argv": list(spec.argv)})
    shell.say(f"{verb} {spec.engine} ({spec.launcher}, fingerprint {spec.fingerprint}):")
    shell.say(f"  {shlex.join(spec.argv)}")


def waiting(shell: Shell) -> Any:
    """A line on stderr that says what is waited for, with the elapsed time."""
    import contextlib
    from collections.abc import Iterator

    @contextlib.contextmanager
    def line() -> Iterator[Callable[[str], None]]:
        with shell.console(stderr=True).status("…") as live:
            yield live.update

    return line()
