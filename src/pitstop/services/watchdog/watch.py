"""The watchdog's life: round after round over its engines, with a heartbeat of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from pitstop.core.config.watch import Watch
from pitstop.decisions.watchdog import Step, WatchPolicy, WatchState
from pitstop.services.site import Site
from pitstop.services.watchdog.beat import Hands, beat
from pitstop.services.watchdog.heartbeat import Heartbeat

_LOG = logging.getLogger(__name__)
_LONGEST_ROUND_S = 1800.0  # probes, evidence, a stop and a start; a round that takes longer hangs, and systemd may act

Report = Callable[[str, WatchState, Step], None]


@dataclass(frozen=True)
class Rounds:
    """How often, and what hears of each step."""

    every_s: float
    report: Report
    heartbeat: Heartbeat


def policy_of(watch: Watch) -> WatchPolicy:
    """The pure policy in the configuration."""
    return WatchPolicy(
        strikes=watch.strikes,
        boot_grace_s=float(watch.boot_grace),
        cooldown_s=float(watch.cooldown),
        restarts_per_day=watch.restarts_per_day,
        restart=watch.restart,
    )


async def watch_once(sites: Sequence[Site], policy: WatchPolicy, hands: Hands, report: Report) -> list[Step]:
    """One round over all engines at once; a defect of our own in one costs the others nothing."""
    return [step for step in await asyncio.gather(*(_one(site, policy, hands, report) for site in sites)) if step]


async def watch(sites: Sequence[Site], policy: WatchPolicy, hands: Hands, rounds: Rounds) -> None:
    """Watch until cancelled."""
    progress = _Progress(asyncio.get_running_loop().time)
    heart = asyncio.create_task(_beat_on(rounds.heartbeat, progress))
    rounds.heartbeat.ready()
    try:
        while True:
            progress.mark()
            due_s = progress.now() + rounds.every_s
            await watch_once(sites, policy, hands, rounds.report)
            progress.mark()
            await asyncio.sleep(max(0.0, due_s - progress.now()))
    finally:
        rounds.heartbeat.stopping()
        heart.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await heart


class _Progress:
    """When the loop last got round; its heartbeat stops when it does not any more."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._at_s = now()

    def mark(self) -> None:
        self._at_s = self.now()

    def stuck(self, limit_s: float) -> bool:
        return self.now() - self._at_s > limit_s


async def _beat_on(heartbeat: Heartbeat, progress: _Progress) -> None:
    while heartbeat.every_s is not None:
        if not progress.stuck(_LONGEST_ROUND_S):
            heartbeat.beat()
        await asyncio.sleep(heartbeat.every_s)


async def _one(site: Site, policy: WatchPolicy, hands: Hands, report: Report) -> Step | None:
    try:
        state, step = await beat(site, policy, hands)
    except Exception as error:  # noqa: BLE001 - logged with its traceback and told; the watch goes on
        _LOG.exception("a round of the watchdog for %s failed", site.name)
        await _quietly(hands.tell(f"pitstop watch: {site.name}", f"a defect of the watchdog itself: {error}"))
        return None
    report(site.name, state, step)
    return step


async def _quietly(work: Awaitable[None]) -> None:
    with contextlib.suppress(Exception):
        await work
