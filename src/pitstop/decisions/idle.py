"""Is production idle, and for how long already? Judged by its own counters, without guessing from silence.

What pitstop itself asks for (the watchdog's probes) is no service, and must neither keep a trial waiting nor hide a
request of somebody else. A probe is on its way for a while in which nobody can say whether the server has counted it;
so everything is compared with the reading at which the quiet began, when none was on its way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


@dataclass(frozen=True)
class Activity:
    """One reading. None: the server does not say. `finished` and the token counts only ever grow."""

    running: int | None = None
    waiting: int | None = None
    finished: int | None = None
    prompt_tokens: int | None = None
    generation_tokens: int | None = None
    own_finished: int = 0  # requests of pitstop itself that were over before this reading
    own_on_their_way: int = 0  # and those that were not; the server may or may not have counted them
    own_tokens: int = 0  # of those that are over
    at_gateway: int = 0  # requests that are inside pitstop's gateway for this engine

    @property
    def tokens(self) -> int:
        return (self.prompt_tokens or 0) + (self.generation_tokens or 0)


class Rest(StrEnum):
    IDLE = "idle"  # for long enough: go
    WAITING = "waiting"
    GAVE_UP = "gave-up"
    BLIND = "blind"  # the server tells nothing by which idleness could be judged


@dataclass(frozen=True)
class Policy:
    idle_for_s: float
    give_up_after_s: float
    window: tuple[int, int] | None = None  # minutes of the local day; may run over midnight


@dataclass(frozen=True)
class State:
    began_s: float
    quiet_since_s: float | None = None
    base: Activity | None = None  # the reading at which the quiet began
    last: Activity | None = None
    blind_readings: int = 0
    why: str = "nothing read yet"  # what it waits for, in words


# An engine may miss a reading while it is busy; five in a row are an answer, unless it has told something before: then
# it is wedged, or being restarted, and may yet come to rest.
MAX_BLIND_READINGS = 5


def decide(state: State, now: Activity | None, policy: Policy, now_s: float, minute_of_day: int) -> tuple[State, Rest]:
    """Fold one reading (None: no answer) into the state, and say whether production may be taken down.

    `now_s` is monotonic, in seconds. Whoever asked for no idle time gets it without any reading.
    """
    if policy.idle_for_s <= 0 and _inside(policy.window, minute_of_day):
        return replace(state, why="no idle time was asked for"), Rest.IDLE
    if policy.idle_for_s > 0:
        state = _fold(state, now, now_s)
    if state.last is None and state.blind_readings >= MAX_BLIND_READINGS:
        return state, Rest.BLIND
    long_enough = policy.idle_for_s <= 0 or _quiet_for(state, now_s) >= policy.idle_for_s
    unclear = policy.idle_for_s > 0 and now is not None and now.own_on_their_way  # it may hide somebody else's
    if long_enough and not unclear and _inside(policy.window, minute_of_day):
        return state, Rest.IDLE
    state = replace(state, why="our own probe to end" if unclear else "the window to open") if long_enough else state
    return state, Rest.GAVE_UP if now_s - state.began_s >= policy.give_up_after_s else Rest.WAITING


def disturbed(state: State, why: str) -> State:
    """The same state when something else than the counters shows that production is not idle after all."""
    return replace(state, quiet_since_s=None, base=None, why=why)


def _fold(state: State, now: Activity | None, now_s: float) -> State:
    if now is None or _tells_nothing(now):
        return replace(disturbed(state, "an answer of the server"), blind_readings=state.blind_readings + 1)
    state = replace(state, last=now, blind_readings=0)
    if busy := _busy(state.base, now):
        return disturbed(state, busy)
    if state.base is None and now.own_on_their_way:
        return disturbed(state, "our own probe to be answered")
    if state.base is None:
        return replace(state, base=now, quiet_since_s=now_s, why="more quiet time")
    return replace(state, why="more quiet time")


def _busy(base: Activity | None, now: Activity) -> str:
    """What keeps the server busy, in words; empty when nothing does."""
    inside = (now.running or 0) + (now.waiting or 0)
    if inside > now.own_on_their_way:
        return f"{now.running or 0} running and {now.waiting or 0} waiting request(s)"
    if now.at_gateway:
        return f"{now.at_gateway} request(s) inside the gateway"
    return _served_since(base, now) if base is not None else ""


def _served_since(base: Activity, now: Activity) -> str:
    if (now.finished or 0) < (base.finished or 0) or now.tokens < base.tokens:
        return "quiet: the engine was restarted since the last look"
    foreign = _grown(base.finished, now.finished) - (now.own_finished + now.own_on_their_way - base.own_finished)
    if foreign > 0:
        return f"quiet: {foreign} request(s) were served since the last look"
    foreign_tokens = now.tokens - base.tokens - (now.own_tokens - base.own_tokens)
    if now.finished is None and not now.own_on_their_way and foreign_tokens > 0:
        return "quiet: tokens were produced since the last look"
    return ""


def _quiet_for(state: State, now_s: float) -> float:
    return now_s - state.quiet_since_s if state.quiet_since_s is not None else 0.0


def _grown(before: int | None, after: int | None) -> int:
    return max(0, after - before) if before is not None and after is not None else 0


def _tells_nothing(now: Activity) -> bool:
    """Without a gauge of running requests a long request would look like silence."""
    return now.running is None


def _inside(window: tuple[int, int] | None, minute: int) -> bool:
    if window is None:
        return True
    begin, end = window
    return begin <= minute < end if begin <= end else minute >= begin or minute < end
