"""`up`, `down`, `restart`, `status`: one engine at a time, under the lease."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.engines.adapter import ReadinessReport
from pitstop.launch.launcher import Launcher, LaunchSpec, Running
from pitstop.launch.ready import ready
from pitstop.services.lease import acquire
from pitstop.services.site import Site

Say = Callable[[str], None]


class Owner(Protocol):
    """A guard that watches already, and is told what to own as soon as that exists."""

    async def own(self, running: Running) -> None: ...


class Nobody:
    """No guard."""

    async def own(self, running: Running) -> None:
        """Nothing to do."""


# Entered before anything is touched; leaving it raises GuardTripped when the guard had to kill.
Guarded = Callable[[LaunchSpec], contextlib.AbstractAsyncContextManager[Owner]]


@contextlib.asynccontextmanager
async def unguarded(_spec: LaunchSpec) -> AsyncIterator[Owner]:
    """Boot without a memory guard."""
    yield Nobody()


@dataclass(frozen=True)
class EngineStatus:
    """What is seen of one engine."""

    name: str
    running: Running | None
    report: ReadinessReport
    ordered_fingerprint: str | None
    foreign: str  # who else listens on its port

    @property
    def drifted(self) -> bool:
        """Up, but not as the configuration says."""
        return self.running is not None and self.running.fingerprint != self.ordered_fingerprint


async def up(
    site: Site, home: Home, spec: LaunchSpec, *, steady_s: Callable[[], float], say: Say, guarded: Guarded = unguarded
) -> Running:
    """Start the engine and wait until it is ready. One that was started here and does not get ready is stopped again.

    One that is up as ordered is left alone. One that is up with other settings is refused, unless knobs were turned for
    this launch: then a person said what is to run, and it is launched anew (`up --set IMAGE=…` goes back in one step).
    """
    launcher = _launcher(site)
    with _leased(home, site, "up", steady_s):
        found = await launcher.inspect(spec)
        is_another = found is not None and found.fingerprint != spec.fingerprint
        if found is not None and is_another and not spec.overrides:
            raise UsageError(
                f"engine {site.name} is up with other settings ({found.fingerprint}, not {spec.fingerprint}).",
                hint=f"`pitstop restart {site.name}` starts it with those of the configuration.",
            )
        if found is not None and not is_another:  # somebody's earlier start: waited for, and never stopped by us
            return await _until_ready(site, spec, say)
        async with guarded(spec) as owner:
            if is_another:
                say(f"stopping {site.name}")
                await launcher.stop(spec)
            return await _started(site, spec, say, owner)


async def restart(
    site: Site, home: Home, spec: LaunchSpec, *, steady_s: Callable[[], float], say: Say, guarded: Guarded = unguarded
) -> Running:
    """`down` and `up` under one lease, so that nobody comes in between."""
    launcher = _launcher(site)
    with _leased(home, site, "restart", steady_s):
        async with guarded(spec) as owner:
            say(f"stopping {site.name}")
            await launcher.stop(spec)
            return await _started(site, spec, say, owner)


async def down(site: Site, home: Home, *, steady_s: Callable[[], float], say: Say) -> bool:
    """Stop the engine, children included; False when it was down already."""
    launcher = _launcher(site)
    assert site.spec is not None
    with _leased(home, site, "down", steady_s):
        was_up = await launcher.inspect(site.spec) is not None
        say(f"stopping {site.name}")
        await launcher.stop(site.spec)
        return was_up


async def status(site: Site) -> EngineStatus:
    """Look at the engine; touches nothing."""
    foreign = await site.launcher.foreign_listener(site.spec) if site.launcher and site.spec else ""
    return EngineStatus(
        name=site.name,
        running=await site.running(),
        report=await site.adapter.readiness(site.endpoint),
        ordered_fingerprint=site.spec.fingerprint if site.spec else None,
        foreign=foreign,
    )


async def _started(site: Site, spec: LaunchSpec, say: Say, owner: Owner) -> Running:
    """Start it and wait until it is ready."""
    launcher = _launcher(site)
    say(f"starting {site.name}")
    async with _undone(launcher, spec, unless=UsageError):  # then it was not started: up already, or its port is taken
        running = await launcher.start(spec, site.environ)
    async with _undone(launcher, spec):
        await owner.own(running)
        return await _until_ready(site, spec, say)


@contextlib.asynccontextmanager
async def _undone(
    launcher: Launcher, spec: LaunchSpec, unless: type[BaseException] | tuple[()] = ()
) -> AsyncIterator[None]:
    """Stop the engine when what is inside fails, or is ended by a Ctrl-C: nothing half started is left behind."""
    try:
        yield
    except unless:
        raise
    except BaseException:
        with contextlib.suppress(EngineFailed):
            await launcher.stop(spec)
        raise


async def _until_ready(site: Site, spec: LaunchSpec, say: Say) -> Running:
    return await ready(
        _launcher(site),
        spec,
        site.adapter,
        site.endpoint,
        float(site.config.boot_timeout),
        progress=lambda waits_for, _s: say(waits_for),
    )


@contextlib.contextmanager
def _leased(home: Home, site: Site, purpose: str, steady_s: Callable[[], float]) -> Iterator[None]:
    held = acquire(home, steady_s, purpose=f"{purpose} {site.name}", engines=(site.name,))
    try:
        yield
    finally:
        held.release()


def _launcher(site: Site) -> Launcher:
    if site.launcher is None:
        raise UsageError(
            f"engine {site.name} has no [engine.{site.name}.launch], so pitstop cannot start or stop it.",
            hint="Add one; `pitstop config schema` lists what it takes.",
        )
    return site.launcher
