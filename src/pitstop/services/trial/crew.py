"""The real crew: the services of this package put together for one trial."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pitstop.core.config.quality import Quality
from pitstop.core.documents import RunDocument
from pitstop.core.home import Home
from pitstop.decisions.guard import GuardPolicy
from pitstop.decisions.trial import Boot, Outcome
from pitstop.launch.containers import engine_of
from pitstop.launch.launcher import Running
from pitstop.ledger.store import Ledger
from pitstop.rulers.ruler import Progress, Settings
from pitstop.services.assignment import Assignment
from pitstop.services.bench import measure
from pitstop.services.first_start import remember_served
from pitstop.services.guard.ordering import guard_order
from pitstop.services.guard.vigil import Vigil, under_guard
from pitstop.services.plan.learnt import learn
from pitstop.services.site import Site
from pitstop.services.token import generate_token
from pitstop.services.trial.boot_info import BootTimes, boot_info
from pitstop.services.trial.busy import LEAST_PATIENCE_S, token_in_time
from pitstop.services.trial.door import GatewayDoor
from pitstop.services.trial.folder import TrialFolder
from pitstop.services.trial.idle import wait_idle
from pitstop.services.trial.images import ContainerImages
from pitstop.services.trial.journal import Journal
from pitstop.services.trial.judging import enough
from pitstop.services.trial.memory import expected_after_stop, wait_for
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.record import MEMORY, keep_run, run_file
from pitstop.services.trial.roles import Crew, Say, Unfit, as_it_should_be, unfailing
from pitstop.services.watchdog.presence import taken_away


def real_crew(
    home: Home,
    now: Callable[[], datetime],
    say: Say,
    progress: Progress,
    open_ledger: Callable[[], Ledger],
    neighbours: Sequence[Site] = (),
    unfit: Unfit = as_it_should_be,
) -> Crew:
    """Everything a trial needs from the world, with its clock and its live view.

    `neighbours` are the other engines of the box: what they serve meanwhile disturbs a measurement.
    """
    say = unfailing(say)
    world = _World(home, now, say, progress, open_ledger, neighbours)
    return Crew(
        measure=world.measure,
        memory=_Memory(home, say),
        images=ContainerImages(),
        idle=world.idle,
        door=world.door,
        guarded=world.guarded,
        generate=world.generate,
        info=world.info,
        stopped=world.stopped,
        why_stop=world.why_stop,
        served=partial(remember_served, home),
        pause=asyncio.sleep,
        clock=world.clock,
        say=say,
        unfit=unfit,
    )


class _World:
    """The services that need to know where things lie and what the time is."""

    def __init__(
        self,
        home: Home,
        now: Callable[[], datetime],
        say: Say,
        progress: Progress,
        open_ledger: Callable[[], Ledger],
        neighbours: Sequence[Site],
    ) -> None:
        self._home, self._now, self._say, self._progress = home, now, say, progress
        self._open_ledger, self._neighbours = open_ledger, neighbours
        self.door = GatewayDoor(home)

    def clock(self) -> str:
        return self._now().isoformat(timespec="milliseconds")

    async def measure(self, site: Site, promise: Promise, boot: Boot) -> RunDocument:
        path = run_file(self._home.trials / promise.id, boot, promise)

        def save(document: RunDocument) -> None:
            with contextlib.suppress(OSError):  # a full disk costs what a crash may cost, and not the measurement
                keep_run(path, document)

        asked = assignment(promise, boot)
        return await measure(
            site, asked, now=self._now, progress=self._progress, save=save, neighbours=self._neighbours
        )

    @contextlib.asynccontextmanager
    async def guarded(self, site: Site, promise: Promise) -> AsyncIterator[Vigil]:
        limits, home = promise.trial.guard, self._home
        policy = GuardPolicy(
            min_available_bytes=int(limits.min_available), max_swap_growth_bytes=int(limits.max_swap_growth)
        )
        assert site.spec is not None
        order = guard_order(
            site.name,
            policy,
            home,
            stamp=f"{self._now():%Y%m%d-%H%M%S}",
            csv=str(self._memory_curve(promise)),
            binary=engine_of(site.spec).binary,
        )
        learn_from = partial(learn, home, site.name, site.spec.fingerprint)
        note = Journal(home.trials / promise.id, self.clock).note
        async with under_guard(order, None, home.logs / f"guard-{site.name}.log", learn_from, note) as guard:
            yield guard

    async def generate(self, site: Site) -> str:
        patience_s = max(float(site.config.boot_timeout), LEAST_PATIENCE_S)
        return await token_in_time(site, generate_token, patience_s, self._say, asyncio.sleep)

    async def info(self, site: Site, promise: Promise, times: BootTimes) -> dict[str, Any]:
        return await boot_info(site, times, self._memory_curve(promise), self.clock())

    async def idle(self, site: Site, promise: Promise) -> Outcome:
        return await wait_idle(site, promise, self._home, self.door, self._say)

    async def stopped(self, site: Site) -> bool:
        return await taken_away(site, self._home)

    def why_stop(self, promise: Promise, blocks: int) -> str:
        return enough(TrialFolder(self._home.trials / promise.id), promise, self._open_ledger, blocks)

    def _memory_curve(self, promise: Promise) -> Path:
        return self._home.trials / promise.id / MEMORY


@dataclass(frozen=True)
class _Memory:
    home: Home
    say: Say

    async def expected(self, site: Site, running: Running | None) -> int | None:
        return await expected_after_stop(site, running)

    async def back(self, site: Site, expected: int | None, timeout_s: float) -> None:
        await wait_for(site, self.home, expected, timeout_s, self.say)


def assignment(promise: Promise, boot: Boot) -> Assignment:
    """What is measured in one boot: the same for every arm, with nonces of its own."""
    trial, arm = promise.trial, promise.arms[boot.arm]
    return Assignment(
        run_id=f"{promise.id}-{boot.block}-{arm.name}",
        rulers=trial.rulers,
        settings=Settings(
            runs=trial.runs,
            max_tokens=trial.max_tokens,
            pp=trial.pp,
            concurrency=trial.concurrency,
            thinking=trial.thinking,
            seed=trial.seed,
            cases=trial.cases,
            quality=trial.quality or Quality(),
        ),
        ordered=arm.spec.fingerprint,
        extra={"arm": arm.name, "overrides": arm.overrides, "block": boot.block},
    )
