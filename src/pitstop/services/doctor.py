"""What a person would check before the first trial: each with what was found, and what to do about it."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from enum import StrEnum

import msgspec

from pitstop.core.config.engine import DockerLaunch, Engine, ScriptLaunch, SystemdLaunch
from pitstop.core.config.schema import Config
from pitstop.core.errors import PitstopError
from pitstop.core.home import Home
from pitstop.core.units import format_size
from pitstop.decisions.lease import Standing
from pitstop.engines.adapter import Readiness
from pitstop.launch.memory_back import read_memory
from pitstop.ledger.store import Ledger
from pitstop.services.lease import lease_standing
from pitstop.services.readiness import refusal
from pitstop.services.site import Site, site_of
from pitstop.services.trial.folder import owed


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Finding(msgspec.Struct, frozen=True):
    """One check. `remedy` is empty when all is well."""

    check: str
    health: Health
    found: str
    remedy: str = ""


async def examine(
    config: Config, home: Home, environ: Mapping[str, str], open_ledger: Callable[[], Ledger]
) -> AsyncIterator[Finding]:
    """Every check in turn; none of them touches an engine."""
    yield _disk(home)
    yield _ledger(open_ledger)
    yield _memory(config)
    for finding in _debts(home):
        yield finding
    if not config.engine:
        yield Finding("engines", Health.WARNING, "the configuration names no engine", "Run `pitstop init` and edit it.")
    for name, engine in config.engine.items():
        async for finding in _engine(name, engine, home, environ):
            yield finding


def _disk(home: Home) -> Finding:
    free = shutil.disk_usage(home.root).free
    if free < 2**30:
        return Finding("state folder", Health.WARNING, f"{home.root} has {format_size(free)} free", "Make room there.")
    return Finding("state folder", Health.OK, f"{home.root}, {format_size(free)} free")


def _ledger(open_ledger: Callable[[], Ledger]) -> Finding:
    try:
        with open_ledger() as ledger:
            ledger.check()
            return Finding("ledger", Health.OK, ledger.name)
    except PitstopError as error:
        return Finding("ledger", Health.FAILED, error.message, error.hint)


def _memory(config: Config) -> Finding:
    available, floor = read_memory().available_bytes, config.host.min_available
    found = f"{format_size(available)} available, the guard's floor is {format_size(floor)}"
    if available < floor:
        return Finding(
            "memory", Health.WARNING, found, "Free memory, or lower host.min_available: guards would refuse."
        )
    return Finding("memory", Health.OK, found)


def _debts(home: Home) -> Iterator[Finding]:
    lease, standing = lease_standing(home, time.monotonic())
    for folder in owed(home):
        if standing is not Standing.HELD:
            yield Finding("restore", Health.FAILED, f"trial {folder.id} owes a restore", "Run `pitstop trial recover`.")
    if standing is Standing.STALLED and lease is not None:
        found = f"{lease.purpose} (process {lease.holder.pid}) holds the lease and does not move"
        yield Finding("lease", Health.WARNING, found, "Look at that process; `pitstop trial recover` takes it over.")


async def _engine(name: str, engine: Engine, home: Home, environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    check = f"engine {name}"
    binary = _container_program(engine)
    if binary and shutil.which(binary) is None:
        yield Finding(check, Health.FAILED, f"there is no {binary} on the PATH", f"Install {binary}.")
        return
    try:
        site = site_of(name, engine, home, environ)
        yield await _reached(check, site)
    except PitstopError as error:
        yield Finding(check, Health.FAILED, error.message, error.hint)


def _container_program(engine: Engine) -> str:
    """The program that knows the engine's container; "" when it has none."""
    match engine.launch:
        case DockerLaunch(binary=binary):
            return binary
        case ScriptLaunch(binary=binary) | SystemdLaunch(binary=binary) if engine.launch.container:
            return binary
    return ""


async def _reached(check: str, site: Site) -> Finding:
    if site.launcher is not None and site.spec is not None:
        stranger = await site.launcher.foreign_listener(site.spec)
        if stranger:
            found = f"its port is served by {stranger}, which pitstop did not launch"
            return Finding(check, Health.WARNING, found, f"Stop that, then `pitstop up {site.name}`.")
        if await site.running() is None:
            return Finding(check, Health.WARNING, "down", f"Start it: pitstop up {site.name}")
    report = await site.adapter.readiness(site.endpoint)
    if report.readiness is not Readiness.READY:
        error = refusal(site, report)
        return Finding(check, Health.FAILED, error.message, error.hint)
    identity = await site.identity()
    version = identity.version or "of unknown version"
    found = f"{identity.kind} {version} ({identity.version_source}) serves {identity.model}"
    if await site.adapter.counters(site.endpoint) is None:
        remedy = "Start it with metrics: idle waits, coldness and foreign requests are judged by them."
        return Finding(check, Health.WARNING, f"{found}; it gives no metrics", remedy)
    return Finding(check, Health.OK, found)
