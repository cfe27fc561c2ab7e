"""One round of the watchdog for one engine: look, decide, look again, act, remember, tell."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pitstop.core.errors import EngineFailed, LeaseHeld, PitstopError
from pitstop.core.home import Home
from pitstop.decisions.lease import Standing, watchdog_stands_down
from pitstop.decisions.watchdog import (
    Do,
    Health,
    Lease,
    Look,
    Step,
    WatchPolicy,
    WatchState,
    Work,
    decide,
    restarted,
)
from pitstop.engines.adapter import Counters
from pitstop.launch.launcher import Running
from pitstop.ledger.records import IncidentRecord
from pitstop.services import evidence
from pitstop.services.lease import Held, acquire, lease_standing
from pitstop.services.own_requests import own_request
from pitstop.services.site import Site
from pitstop.services.watchdog import memory, probe
from pitstop.services.watchdog.presence import presence_of

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Hands:
    """What the watchdog can do to the world; each can be replaced in a test."""

    home: Home
    clock: Callable[[], float]  # seconds since the epoch
    steady: Callable[[], float]  # by which leases run out
    tell: Callable[[str, str], Awaitable[None]]  # title and body, to a person
    recover: Callable[[], Awaitable[str]]  # finish what an abandoned lease owes; returns what went wrong
    file: Callable[[IncidentRecord], None]  # put an incident into the ledger
    deadline_s: float = 90.0  # of a probe
    keep: bool = True  # false in a dry run: the real watchdog's strikes stay as they are
    metrics_s: float = 10.0  # of a reading of the counters, and of an item of evidence
    seen_up: Callable[[Running, Work | None], None] | None = None  # keep how long it is up, and what it served


async def look_at(site: Site, hands: Hands) -> Look:
    """See everything that a decision needs; a part that cannot be had is unknown."""
    lease = lease_of(site.name, hands.home, hands.steady())
    presence, started_at_s = await presence_of(site, hands.home)
    before = await _work(site, hands)
    with own_request(hands.home, site.name) as spent:  # a trial that waits for idleness must not wait for us
        answer, detail = await probe.ask(site.endpoint, hands.deadline_s, spent)
    return Look(answer, detail, presence, started_at_s, before, await _work(site, hands), lease)


def lease_of(engine: str, home: Home, now_s: float) -> Lease:
    """What the lease means for this engine."""
    lease, standing = lease_standing(home, now_s)
    if lease is None or not watchdog_stands_down(lease, standing, engine):
        return Lease.NONE
    owes = bool(lease.trial) and standing in (Standing.ABANDONED, Standing.STALLED)
    return Lease.OWES if owes else Lease.HELD


async def beat(site: Site, policy: WatchPolicy, hands: Hands) -> tuple[WatchState, Step]:
    """One round. Only a defect of our own gets out; the caller tells it and goes on."""
    state = memory.recall(hands.home, site.name)
    look = await look_at(site, hands)
    state, step = decide(state, look, policy, hands.clock())
    _keep(hands, site.name, state)  # before acting: a watchdog that dies in a restart must remember the strike
    notes = list(step.tell)
    if step.health is Health.GENERATING:
        await _count_up(site, hands, look.after)
    if step.action is Do.RECOVER and (problem := await hands.recover()):
        notes.append(f"the restore could not be finished: {problem}")
    if step.action is Do.RESTART:
        state, outcome = await _restart(site, policy, hands, state, step)
        _keep(hands, site.name, state)
        notes.append(outcome)
    for note in notes:
        await hands.tell(f"pitstop watch: {site.name}", note)
    return state, step


async def _count_up(site: Site, hands: Hands, work: Work | None) -> None:
    """Exposure: what rates of incidents are counted over. It is never a reason for a round to fail."""
    if hands.seen_up is None:
        return
    try:
        running = await site.running()
    except (PitstopError, OSError):
        return
    if running is not None:
        hands.seen_up(running, work)


async def _restart(
    site: Site, policy: WatchPolicy, hands: Hands, state: WatchState, step: Step
) -> tuple[WatchState, str]:
    """Evidence first, then stop and start under the lease; returns what came of it in words."""
    stamp = datetime.fromtimestamp(hands.clock(), UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = hands.home.evidence / f"watch-{site.name}-{stamp}"
    try:
        about = f"{step.health}: {step.reason}"
        missing = await evidence.collect(site, await site.running(), folder, about, item_s=hands.metrics_s)
        lease = acquire(hands.home, hands.steady, purpose=f"watchdog's restart of {site.name}", engines=(site.name,))
        try:
            async with lease.kept_alive(lambda: None):  # `check` finds out by itself
                spared = await _relaunch(site, policy, hands, lease)
        finally:
            lease.release()
    except LeaseHeld as held:
        return replace(state, strikes=0), f"NOT restarted: {held.message}"
    except (PitstopError, OSError) as error:
        return restarted(state, hands.clock()), f"the restart FAILED: {error}. Evidence: {folder}"
    if spared:
        return replace(state, strikes=0), f"NOT restarted: {spared}. Evidence: {folder}"
    hands.file(_incident(site.name, step, str(folder), missing, hands.clock()))
    return restarted(state, hands.clock()), f"restarted after {step.health} ({step.reason}). Evidence: {folder}"


async def _relaunch(site: Site, policy: WatchPolicy, hands: Hands, lease: Held) -> str:
    """Look again, then stop and start with the defaults; returns why it was spared instead, or an empty string."""
    assert site.launcher is not None
    assert site.spec is not None
    again = replace(await look_at(site, hands), lease=Lease.NONE)  # the lease is ours now
    _, now = decide(WatchState(), again, policy, hands.clock())
    if not now.strike:
        return f"at a second look it was {now.health} ({now.reason})"
    if why := await site.launcher.recreatable(site.spec):
        raise EngineFailed(f"nothing was touched, because it could not be made again: {why}")
    lease.check()
    await site.launcher.stop(site.spec)
    lease.check()
    await site.launcher.start(site.spec, site.environ)
    return ""


async def _work(site: Site, hands: Hands) -> Work | None:
    try:
        counters = await site.adapter.counters(site.endpoint, deadline_s=hands.metrics_s)
    except PitstopError:
        return None
    return None if counters is None else work_of(counters)


def work_of(counters: Counters) -> Work:
    """The counters that only move when the engine works."""
    return Work(
        generation_tokens=counters.generation_tokens,
        prompt_tokens=counters.prompt_tokens,
        requests_finished=counters.requests_finished,
        kv_cache_usage=counters.kv_cache_usage,
        running=counters.requests_running,
        waiting=counters.requests_waiting,
    )


def _keep(hands: Hands, engine: str, state: WatchState) -> None:
    if hands.keep and (problem := memory.remember(hands.home, engine, state)):
        _LOG.warning("%s", problem)


def _incident(engine: str, step: Step, folder: str, missing: list[str], now_s: float) -> IncidentRecord:
    at = datetime.fromtimestamp(now_s, UTC).isoformat(timespec="seconds")
    return IncidentRecord(
        id=f"watch-{engine}-{at}",
        recorded_at=at,
        signature=f"watchdog-{step.health}",
        summary=f"the watchdog restarted {engine}: {step.health} ({step.reason})",
        first_at=at,
        engine=engine,
        evidence=(folder,),
        consequences=("restarted",),
        advice="Read log.txt and stack.txt in the evidence folder; `pitstop incidents scan --log` names known faults.",
        detail={"missing": missing},
    )
