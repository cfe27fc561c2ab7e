"""The real crew: the services of this package put together for one trial."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pitstop.core.config.quality import Quality
from pitstop.core.documents import RunDocument
from pitstop.core.home import Home
from pitstop.decisions.guard import GuardPolicy
from pitstop.decisions.trial import Boot, Outcome
from pitstop.launch.launcher import Running
from pitstop.ledger.store import Ledger
from pitstop.rulers.ruler import Progress, Settings
from pitstop.services.assignment import Assignment
from pitstop.services.bench import measure
from pitstop.services.first_start import remember_served
from pitstop.services.guard.ordering import guard_order
from pitstop.services.guard.spawn import Guard, under_guard
from pitstop.services.plan.learnt import learn
from pitstop.services.site import Site
from pitstop.services.token import generate_token
from pitstop.services.trial.boot_info import BootTimes, boot_info
from pitstop.services.trial.door import GatewayDoor
from pitstop.services.trial.folder import TrialFolder
from pitstop.services.trial.idle import wait_idle
from pitstop.services.trial.judging import enough
from pitstop.services.trial.memory import expected_after_stop, wait_for
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.record import MEMORY, keep_run, run_file
from pitstop.services.trial.roles import Crew, Say, Unfit, as_it_should_be
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

    def clock() -> str:
        return now().isoformat(timespec="milliseconds")

    async def measured(site: Site, promise: Promise, boot: Boot) -> RunDocument:
        path = run_file(home.trials / promise.id, boot, promise)

        def save(document: RunDocument) -> None:
            with contextlib.suppress(OSError):  # a full disk costs what a crash may cost, and not the measurement
                keep_run(path, document)

        asked = assignment(promise, boot)
        return await measure(site, asked, now=now, progress=progress, save=save, neighbours=neighbours)

    @contextlib.asynccontextmanager
    async def guarded(site: Site, promise: Promise) -> AsyncIterator[Guard]:
        limits = promise.trial.guard
        policy = GuardPolicy(
            min_available_bytes=int(limits.min_available), max_swap_growth_bytes=int(limits.max_swap_growth)
        )
        order = guard_order(
            site.name, policy, home, stamp=f"{now():%Y%m%d-%H%M%S}", csv=str(home.trials / promise.id / MEMORY)
        )
        assert site.spec is not None
        learn_from = partial(learn, home, site.name, site.spec.fingerprint)
        async with under_guard(order, None, home.logs / f"guard-{site.name}.log", learn_from) as guard:
            yield guard

    async def info(site: Site, promise: Promise, times: BootTimes) -> dict[str, Any]:
        return await boot_info(site, times, home.trials / promise.id / MEMORY, clock())

    door = GatewayDoor(home)

    async def idle(site: Site, promise: Promise) -> Outcome:
        return await wait_idle(site, promise, home, door, say)

    async def stopped(site: Site) -> bool:
        return await taken_away(site, home)

    return Crew(
        measure=measured,
        memory=_Memory(home, say),
        idle=idle,
        door=door,
        guarded=guarded,
        generate=generate_token,
        info=info,
        stopped=stopped,
        why_stop=lambda promise, blocks: enough(TrialFolder(home.trials / promise.id), promise, open_ledger, blocks),
        served=partial(remember_served, home),
        pause=asyncio.sleep,
        clock=clock,
        say=say,
        unfit=unfit,
    )


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
