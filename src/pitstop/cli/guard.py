"""`pitstop guard`: kill an engine before it freezes the box."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.config.host import Host
    from pitstop.core.config.schema import Config
    from pitstop.core.home import Home
    from pitstop.decisions.guard import GuardPolicy
    from pitstop.services.guard.order import GuardOrder

_ENDS_S = (0.01, 60.0)  # a shorter interval measures itself, a longer one guards nothing


def register(app: typer.Typer) -> None:
    app.command("guard")(guard)


@guarded
def guard(
    engine: Annotated[str | None, typer.Argument(help="An engine of the configuration.", show_default=False)] = None,
    pid: Annotated[int | None, typer.Option(help="Own this process and its tree.", min=1, show_default=False)] = None,
    container: Annotated[
        str, typer.Option(help="Own this container, now and whenever it is up.", show_default=False)
    ] = "",
    min_available: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Floor under MemAvailable, with its unit.", show_default=False)
    ] = None,
    max_swap_growth: Annotated[
        str | None, typer.Option(metavar="SIZE", help="How far swap may grow from the start.", show_default=False)
    ] = None,
    soft_available: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="A higher floor that kills after 5 readings in a row.", show_default=False),
    ] = None,
    interval: Annotated[str, typer.Option(metavar="TIME", help="Longest time between two readings.")] = "1s",
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Guard that long, then end.", show_default=False)
    ] = None,
    log: Annotated[str, typer.Option(metavar="FILE.csv", help="One row per reading.", show_default=False)] = "",
    procfs: Annotated[str, typer.Option(metavar="DIR", help="Read meminfo below this folder.")] = "/proc",
    kill_when_low: Annotated[
        bool, typer.Option("--kill-when-low", help="Kill, not refuse, when a limit is violated at the start.")
    ] = False,
    podman: Annotated[bool, typer.Option("--podman", help="The container is podman's.")] = False,
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Watch memory and kill ENGINE, a process tree or a container before the box freezes (exit 5)."""
    from pitstop.services.guard.ordering import guard_order

    shell = Shell(json_output, config_file)
    config, home = shell.config_or_empty(), shell.home()
    policy = _policy(config.host, min_available, max_swap_growth, soft_available, interval)
    target = _target(config, home, engine, pid, container, "podman" if podman else "docker")
    order = guard_order(
        policy=policy,
        home=home,
        stamp=time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()),
        config_file=shell.config_path if shell.config_path.exists() else None,
        csv=_csv(log),
        for_s=_duration("--for", for_) if for_ is not None else None,
        procfs=procfs.rstrip("/") or "/",
        kill_when_low=kill_when_low,
        **target,
    )
    if dry_run:
        _show(shell, order)
        return
    _become(order, json_output)


def _show(shell: Shell, order: GuardOrder) -> None:
    import json

    from pitstop.core.units import format_size

    policy = order.policy
    shell.document({"dry_run": True, "order": json.loads(order.to_json())})
    owned = f"container {order.container}" if order.container else f"process {order.pid} and its tree"
    limits = [f"less than {format_size(policy.min_available_bytes)} are available"]
    if policy.max_swap_growth_bytes is not None:
        limits.append(f"swap has grown by {format_size(policy.max_swap_growth_bytes)}")
    shell.say(f"would look at memory every {policy.interval_s:g} s or more often, and kill {order.engine} ({owned})")
    shell.say(f"when {' or '.join(limits)}")


def _policy(host: Host, floor: str | None, growth: str | None, soft: str | None, interval: str) -> GuardPolicy:
    from pitstop.core.errors import UsageError
    from pitstop.decisions.guard import GuardPolicy

    seconds = _duration("--interval", interval)
    if not _ENDS_S[0] <= seconds <= _ENDS_S[1]:
        raise UsageError(f"--interval {interval} is not between 10 ms and 60 s.", hint="1s is the usual choice.")
    return GuardPolicy(
        min_available_bytes=_size("--min-available", floor) if floor is not None else int(host.min_available),
        max_swap_growth_bytes=_size("--max-swap-growth", growth) if growth is not None else int(host.max_swap_growth),
        soft_available_bytes=_size("--soft-available", soft) if soft is not None else None,
        interval_s=seconds,
    )


def _target(
    config: Config, home: Home, engine: str | None, pid: int | None, container: str, binary: str
) -> dict[str, Any]:
    """Which one thing is owned, as arguments of an order."""
    from pitstop.core.errors import UsageError

    if pid is not None and container:
        raise UsageError("--pid and --container both name what to own.", hint="Give one of them.")
    if pid is not None:
        return {"engine": engine or f"process {pid}", "pid": pid}
    if container:
        return {"engine": engine or container, "container": container, "binary": binary}
    return _configured(config, home, engine)


def _configured(config: Config, home: Home, name: str | None) -> dict[str, Any]:
    """The container or the process of an engine that stands in the configuration."""
    import asyncio

    from pitstop.core.errors import UsageError
    from pitstop.launch.plan import plan
    from pitstop.launch.registry import launcher_for
    from pitstop.services.site import engine_named

    if name is None and not config.engine:
        raise UsageError("Nothing to own was named.", hint="Give an ENGINE, --pid N or --container NAME.")
    name, engine = engine_named(config, name)
    launch = engine.launch
    binary = getattr(launch, "binary", "docker")
    if fixed := getattr(launch, "container", "") or getattr(launch, "name", ""):
        return {"engine": name, "container": fixed, "binary": binary}
    spec = plan(name, engine, environ=os.environ)
    running = asyncio.run(launcher_for(spec, home).inspect(spec))
    if running is None or (running.pid is None and not running.container_id):
        raise UsageError(f"engine {name} is not up, so there is nothing to own.", hint=f"pitstop up {name} guards it.")
    if running.container_id:
        return {"engine": name, "container": running.container_id, "binary": binary}
    return {"engine": name, "pid": running.pid}


def _csv(log: str) -> str:
    """The chosen file as an absolute path, known to be writable; empty for the usual place."""
    from pitstop.core.errors import UsageError

    if not log:
        return ""
    path = Path(log).absolute()
    try:
        path.open("ab").close()
    except OSError as error:
        raise UsageError(
            f"--log {log} cannot be written: {error.strerror}.", hint="Name a file in a folder that exists."
        ) from error
    return str(path)


def _size(option: str, text: str) -> int:
    from pitstop.core.units import parse_size

    size = _quantity(option, text, parse_size)
    if size <= 0:
        from pitstop.core.errors import UsageError

        raise UsageError(f"{option} {text} is no limit.", hint="Give more than zero, as in 12GiB.")
    return int(size)


def _duration(option: str, text: str) -> float:
    from pitstop.core.units import parse_duration

    return float(_quantity(option, text, parse_duration))


def _quantity(option: str, text: str, read: Callable[[str], float]) -> float:
    from pitstop.core.errors import UsageError

    try:
        return read(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.", hint="12GiB, 12000MiB and 12GB are three different sizes.") from error


def _become(order: Any, json_output: bool) -> None:
    """Replace this process by the lean one; without --json its report is not wanted on stdout."""
    from pitstop.services.guard.spawn import guard_argv

    argv = guard_argv(order)
    sys.stdout.flush()
    if not json_output:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(argv[0], argv)  # noqa: S606 - the very point: no shell, no second process
