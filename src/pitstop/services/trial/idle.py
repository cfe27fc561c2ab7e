"""Wait until production has been idle for long enough, and say meanwhile what is waited for."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

from pitstop.core.config.window import parse_window
from pitstop.core.errors import PitstopError
from pitstop.core.home import Home
from pitstop.core.units import format_duration
from pitstop.decisions.idle import Activity, Policy, Rest, State, decide, disturbed
from pitstop.decisions.trial import How, Outcome
from pitstop.services.own_requests import own_requests
from pitstop.services.site import Site
from pitstop.services.trial.door import Door
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.roles import Say

LOOK_EVERY_S = 2.0
DRAIN_S = 10.0  # what came in just before the gateway's door was shut may finish; whatever takes longer is work


async def wait_idle(site: Site, promise: Promise, home: Home, door: Door, say: Say) -> Outcome:
    """DONE once production has served nothing for `idle_for`; GAVE_UP after `give_up_after`. Touches nothing.

    When it is DONE the gateway's door is shut and nothing is inside; otherwise the door is as it was.
    """
    trial = promise.trial
    policy = Policy(float(trial.idle_for), float(trial.give_up_after), parse_window(trial.window))
    state = State(time.monotonic())
    while True:
        reading = await _look(site, home, door) if policy.idle_for_s > 0 else None
        state, rest = decide(state, reading, policy, time.monotonic(), _minute_of_day())
        if rest is Rest.IDLE and (inside := await _shut_when_empty(site, door, say)):
            state, rest = disturbed(state, inside), _patience(state, policy)
        if rest is not Rest.WAITING:
            return _outcome(rest, state, policy)
        say(f"waiting for {format_duration(policy.idle_for_s)} without a request; now: {state.why}")
        await asyncio.sleep(min(LOOK_EVERY_S, max(0.1, policy.idle_for_s / 4)))


async def _look(site: Site, home: Home, door: Door) -> Activity | None:
    before = own_requests(home, site.name)
    counters = await site.adapter.counters(site.endpoint)
    at_gateway = await _inside(site, door)
    after = own_requests(home, site.name)
    if counters is None or at_gateway is None:
        return None
    begun = after.finished + len(after.on_their_way)
    return Activity(
        running=counters.requests_running,
        waiting=counters.requests_waiting,
        finished=counters.requests_finished,
        prompt_tokens=counters.prompt_tokens,
        generation_tokens=counters.generation_tokens,
        own_finished=before.finished,
        own_on_their_way=max(0, begun - before.finished),
        own_tokens=before.tokens,
        at_gateway=at_gateway,
    )


async def _inside(site: Site, door: Door) -> int | None:
    try:
        return await asyncio.to_thread(door.inside, site.name)
    except PitstopError:
        return None


async def _shut_when_empty(site: Site, door: Door, say: Say) -> str:
    """Shut the gateway's door and wait a little for what slipped in; why it had to be opened again, or ""."""
    until = time.monotonic() + DRAIN_S
    try:
        inside = await asyncio.to_thread(door.shut, site.name)
        while inside:
            if time.monotonic() > until:
                door.open(site.name)
                return f"{inside} request(s) inside the gateway"
            say(f"{inside} request(s) inside the gateway to finish")
            await asyncio.sleep(0.1)
            inside = await asyncio.to_thread(door.inside, site.name)
    except PitstopError as error:
        door.open(site.name)
        return error.message
    except BaseException:
        door.open(site.name)
        raise
    return ""


def _patience(state: State, policy: Policy) -> Rest:
    return Rest.GAVE_UP if time.monotonic() - state.began_s >= policy.give_up_after_s else Rest.WAITING


def _outcome(rest: Rest, state: State, policy: Policy) -> Outcome:
    match rest:
        case Rest.IDLE:
            return Outcome(How.DONE, state.why if policy.idle_for_s <= 0 else "")
        case Rest.BLIND:
            return Outcome(
                How.REFUSED,
                "production does not say what it is serving (no metrics), so its idleness cannot be judged; "
                'start it with metrics, or set idle_for = "0 s"',
            )
        case _:
            waited = format_duration(policy.give_up_after_s)
            return Outcome(How.GAVE_UP, f"production was not idle within {waited}; last seen: {state.why}")


def _minute_of_day() -> int:
    now = datetime.now().astimezone()
    return now.hour * 60 + now.minute
