"""The first start of a configuration happens under the memory guard: nobody knows yet what it takes on this box.

Which launch values have served before is kept in `$PITSTOP_HOME/served/ENGINE.json`, by fingerprint; a trial's arms
count too, so a winner that a person made production is no stranger.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import msgspec

from pitstop.core.config.host import Host
from pitstop.core.durable import write_durably
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.decisions.guard import GuardPolicy
from pitstop.engines.procfs import read_memory
from pitstop.launch.containers import engine_of
from pitstop.launch.launcher import LaunchSpec
from pitstop.services.guard.ordering import guard_order
from pitstop.services.guard.spawn import spawn_guard, tripped
from pitstop.services.guard.vigil import Vigil
from pitstop.services.lifecycle import Nobody, Owner
from pitstop.services.plan.learnt import learn

_KEPT = 200
# The default of host.min_available is meant for a box of 128 GB; a smaller one has not chosen it.
_LARGEST_SHARE = 4


def served_before(home: Home, spec: LaunchSpec) -> bool:
    """Whether this launch value got ready once before, without the guard having to stop it."""
    return spec.fingerprint in _read(_path(home, spec.engine))


def remember_served(home: Home, spec: LaunchSpec) -> None:
    """Note that it did. A disk that does not take it costs no more than another guarded start."""
    seen = [one for one in _read(_path(home, spec.engine)) if one != spec.fingerprint]
    with contextlib.suppress(OSError):
        _path(home, spec.engine).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_durably(_path(home, spec.engine), msgspec.json.encode([*seen, spec.fingerprint][-_KEPT:]))


class FirstStart:
    """The `guarded` of `lifecycle.up`: a guard around a first start, nothing around any other."""

    def __init__(self, home: Home, host: Host, config_file: Path | None) -> None:
        self._home, self._host, self._config_file = home, host, config_file

    @contextlib.asynccontextmanager
    async def __call__(self, spec: LaunchSpec) -> AsyncIterator[Owner]:
        """GuardTripped when the guard had to kill; UsageError when it cannot do its job from the beginning."""
        if served_before(self._home, spec):
            yield Nobody()
            return
        guard = await self._watching(spec)
        try:
            yield guard
        except BaseException as error:
            report = await guard.stop()
            if report.tripped:
                raise tripped(report) from error
            raise
        report = await guard.stop()
        if report.tripped:
            raise tripped(report)
        learn(self._home, spec.engine, spec.fingerprint, report)
        remember_served(self._home, spec)

    async def _watching(self, spec: LaunchSpec) -> Vigil:
        policy = GuardPolicy(
            min_available_bytes=floor_bytes(self._host, read_memory().total_bytes),
            max_swap_growth_bytes=int(self._host.max_swap_growth),
        )
        order = guard_order(
            spec.engine,
            policy,
            self._home,
            stamp=f"{datetime.now(UTC):%Y%m%d-%H%M%S}",
            config_file=self._config_file,
            binary=engine_of(spec).binary,
        )
        try:
            log = self._home.logs / f"guard-{spec.engine}.log"
            return Vigil(order, log, await spawn_guard(order, log))
        except UsageError as refused:
            raise _unguarded(spec, refused.message, refused.hint) from refused
        except OSError as error:
            raise _unguarded(spec, f"The memory guard cannot be started: {error.strerror or error}.", "") from error


def floor_bytes(host: Host, total_bytes: int | None) -> int:
    """What must stay free in a first start: `host.min_available`, or a quarter of the memory if less and not chosen."""
    floor = int(host.min_available)
    if total_bytes is None or floor != int(Host().min_available):
        return floor
    return min(floor, total_bytes // _LARGEST_SHARE)


def _unguarded(spec: LaunchSpec, why: str, hint: str) -> UsageError:
    return UsageError(
        f"{why} Nothing was started or stopped: engine {spec.engine} has not served with these settings before, and a "
        "first start is guarded.",
        hint=f"{hint}\nTo start it without a guard: --no-guard.".strip(),
    )


def _read(path: Path) -> list[str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[str])
    except (OSError, msgspec.MsgspecError):
        return []


def _path(home: Home, engine: str) -> Path:
    return home.root / "served" / f"{quote(engine, safe='')}.json"
