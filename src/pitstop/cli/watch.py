"""`pitstop watch`: the watchdog."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.config.schema import Config
    from pitstop.core.home import Home
    from pitstop.decisions.watchdog import Step, WatchState, Work
    from pitstop.launch.launcher import Running
    from pitstop.services.site import Site
    from pitstop.services.watchdog.beat import Hands

_RECOVER_S = 3600.0  # a restore boots production, which may take its whole boot timeout


def register(app: typer.Typer) -> None:
    app.command("watch")(watch)


@guarded
def watch(
    engines: Annotated[
        list[str] | None, typer.Argument(help="Engines to watch; without any, those in production.", show_default=False)
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="One look at each, then end: for timers.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Look, decide and say; restart nothing.")] = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Ask engines for one generated token, again and again; restart what is broken, with evidence."""
    import asyncio
    from dataclasses import replace

    from pitstop.services.watchdog.watch import policy_of

    shell = Shell(json_output, config_file)
    config, home = shell.config(), shell.home()
    sites = _sites(config, home, engines or [])
    policy = policy_of(config.watch)
    if dry_run:
        policy = replace(policy, restart=False)
    hands = _hands(shell, config, home, dry_run=dry_run)
    if once:
        _once(shell, sites, policy, hands)
    else:
        asyncio.run(_for_good(shell, config, sites, policy, hands))


def _sites(config: Config, home: Home, named: list[str]) -> list[Site]:
    from pitstop.core.errors import UsageError
    from pitstop.services.site import engine_named, site_of

    names = named or list(config.watch.engines) or [name for name, one in config.engine.items() if one.production]
    if not names:
        raise UsageError(
            "There is nothing to watch: no engine has `production = true`.", hint="Name an engine, or mark one."
        )
    return [site_of(name, engine_named(config, name)[1], home, os.environ) for name in dict.fromkeys(names)]


def _hands(shell: Shell, config: Config, home: Home, *, dry_run: bool) -> Hands:
    from pitstop.cli.ledger import opened_ledger
    from pitstop.core.errors import PitstopError
    from pitstop.ledger.records import IncidentRecord
    from pitstop.services.incidents.catalogue import catalogue, user_folders
    from pitstop.services.incidents.exposure import Served, note_up
    from pitstop.services.incidents.rooted import rooted
    from pitstop.services.notify import notify
    from pitstop.services.watchdog.beat import Hands

    async def tell(title: str, body: str) -> None:
        shell.note(f"{title}: {body}")
        if not dry_run and (problem := await notify(config.host.notify, os.environ, title, body)):
            shell.note(f"nobody could be notified: {problem}")

    async def recover() -> str:
        return "" if dry_run else await _recover()

    def file(incident: IncidentRecord) -> None:
        try:
            with opened_ledger(shell) as ledger:
                ledger.add_incident(rooted(incident, catalogue(user_folders(os.environ))))
        except PitstopError as error:
            shell.note(f"the incident could not be filed: {error.message}")

    def seen_up(running: Running, work: Work | None) -> None:
        served = Served(work.requests_finished, work.generation_tokens) if work else None
        try:
            with opened_ledger(shell) as ledger:
                note_up(ledger, running, datetime.now(UTC), served)
        except PitstopError as error:
            shell.note(f"how long {running.engine} is up could not be noted: {error.message}")

    deadline_s, keep = float(config.watch.deadline), not dry_run
    return Hands(
        home, time.time, time.monotonic, tell, recover, file, deadline_s, keep=keep, seen_up=seen_up if keep else None
    )


async def _recover() -> str:
    """Finish what is owed in a process of its own, so that a watchdog that is stopped meanwhile breaks nothing."""
    import asyncio

    # Without a configuration: the promise on disk is all that a recovery needs.
    argv = [sys.executable, "-m", "pitstop", "trial", "recover"]
    process = await asyncio.create_subprocess_exec(*argv, stdout=2, start_new_session=True)
    try:
        code = await asyncio.wait_for(process.wait(), _RECOVER_S)
    except TimeoutError:
        return "it took longer than an hour"
    return "" if code == 0 else f"`pitstop trial recover` ended with {code}"


def _once(shell: Shell, sites: list[Site], policy: Any, hands: Hands) -> None:
    import asyncio

    from pitstop.core.errors import ExitCode
    from pitstop.decisions.lease import Standing
    from pitstop.decisions.watchdog import Health
    from pitstop.services.lease import lease_standing
    from pitstop.services.watchdog.watch import watch_once

    seen: list[dict[str, Any]] = []

    def report(name: str, state: WatchState, step: Step) -> None:
        seen.append(_shown(name, state, step))
        shell.say(f"{name}: {step.health} ({step.reason}), strikes {state.strikes}")

    steps = asyncio.run(watch_once(sites, policy, hands, report))
    shell.document({"schema": "pitstop.watch", "version": 1, "engines": seen})
    if lease_standing(shell.home(), time.monotonic())[1] is Standing.ABANDONED:  # its restore could not be finished
        shell.finish(ExitCode.NOT_RESTORED)
    well = {Health.GENERATING, Health.LOADING, Health.BUSY, Health.SATURATED, Health.THROTTLED}
    if len(steps) < len(sites) or any(step.health not in well for step in steps):
        shell.finish(ExitCode.UNREACHABLE)


def _shown(name: str, state: WatchState, step: Step) -> dict[str, Any]:
    return {
        "engine": name,
        "health": str(step.health),
        "reason": step.reason,
        "strike": step.strike,
        "strikes": state.strikes,
        "action": str(step.action) if step.action else None,
        "tell": list(step.tell),
    }


async def _for_good(shell: Shell, config: Config, sites: list[Site], policy: Any, hands: Hands) -> None:
    import asyncio
    import signal

    from pitstop.core.errors import ExitCode
    from pitstop.services.watchdog.heartbeat import Heartbeat
    from pitstop.services.watchdog.metrics import WatchMetrics
    from pitstop.services.watchdog.watch import Rounds, watch

    metrics = WatchMetrics()
    if config.watch.metrics_listen:
        metrics.serve(config.watch.metrics_listen)

    def report(name: str, state: WatchState, step: Step) -> None:
        metrics.record(name, state, step)
        shell.document(_shown(name, state, step))
        shell.note(f"{name}: {step.health} ({step.reason})" + (f", strike {state.strikes}" if step.strike else ""))

    rounds = Rounds(float(config.watch.every), report, Heartbeat(os.environ))
    task = asyncio.create_task(watch(sites, policy, hands, rounds))
    got: list[int] = []

    def stop(number: int) -> None:
        got.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        await task
    except asyncio.CancelledError:
        shell.note("the watchdog was stopped")
        if signal.SIGINT in got:  # a service manager's SIGTERM is the usual end
            shell.finish(ExitCode.INTERRUPTED)
