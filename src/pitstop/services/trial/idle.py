"""Wait until production has been idle for long enough, and say meanwhile what is waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime

from pitstop.core.units import format_duration
from pitstop.decisions.idle import Activity, Policy, Rest, State, decide, parse_window
from pitstop.decisions.trial import How, Outcome
from pitstop.services.site import Site
from pitstop.services.trial.perform import Say
from pitstop.services.trial.promise import Promise

LOOK_EVERY_S = 2.0


# What pitstop itself sent to an engine so far, as (requests, tokens): probes of the watchdog are no service.
OwnRequests = Callable[[str], tuple[int, int]]


def none_of_our_own(_engine: str) -> tuple[int, int]:
    return 0, 0


async def wait_idle(site: Site, promise: Promise, say: Say, *, own: OwnRequests = none_of_our_own) -> Outcome:
    """DONE once production has served nothing for `idle_for`; GAVE_UP after `give_up_after`. Touches nothing."""
    trial = promise.trial
    policy = Policy(float(trial.idle_for), float(trial.give_up_after), parse_window(trial.window))
    state = State(time.monotonic())
    while True:
        reading = await _look(site, own) if policy.idle_for_s > 0 else None
        state, rest = decide(state, reading, policy, time.monotonic(), _minute_of_day())
        if rest is not Rest.WAITING:
            return _outcome(rest, state, policy)
        say(f"waiting for {format_duration(policy.idle_for_s)} without a request; now: {state.why}")
        await asyncio.sleep(min(LOOK_EVERY_S, max(0.1, policy.idle_for_s / 4)))


async def _look(site: Site, own: OwnRequests) -> Activity | None:
    counters = await site.adapter.counters(site.endpoint)
    if counters is None:
        return None
    requests, tokens = own(site.name)
    return Activity(
        running=counters.requests_running,
        waiting=counters.requests_waiting,
        finished=counters.requests_finished,
        prompt_tokens=counters.prompt_tokens,
        generation_tokens=counters.generation_tokens,
        own_requests=requests,
        own_tokens=tokens,
    )


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
