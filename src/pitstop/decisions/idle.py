"""Is production idle, and for how long already? Judged by its own counters, without guessing from silence."""

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
    own_requests: int = 0  # finished so far by pitstop itself: probes of the watchdog and the like
    own_tokens: int = 0


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
    last: Activity | None = None
    blind_readings: int = 0
    why: str = "nothing read yet"  # what it waits for, in words


MAX_BLIND_READINGS = 5  # an engine may miss a reading while it is busy; five in a row are an answer


def decide(state: State, now: Activity | None, policy: Policy, now_s: float, minute_of_day: int) -> tuple[State, Rest]:
    """Fold one reading (None: no answer) into the state, and say whether production may be taken down.

    `now_s` is monotonic, in seconds. Whoever asked for no idle time gets it without any reading.
    """
    if policy.idle_for_s <= 0 and _inside(policy.window, minute_of_day):
        return replace(state, why="no idle time was asked for"), Rest.IDLE
    state = _fold(state, now, now_s)
    if state.blind_readings >= MAX_BLIND_READINGS:
        return state, Rest.BLIND
    long_enough = state.quiet_since_s is not None and now_s - state.quiet_since_s >= policy.idle_for_s
    if long_enough and _inside(policy.window, minute_of_day):
        return state, Rest.IDLE
    if now_s - state.began_s >= policy.give_up_after_s:
        return state, Rest.GAVE_UP
    return replace(state, why="the window to open") if long_enough else state, Rest.WAITING


def parse_window(text: str) -> tuple[int, int] | None:
    """Read `01:00-06:00` as minutes of the day; None for an empty text, ValueError for anything else."""
    if not text:
        return None
    try:
        begin, end = (_minute(part) for part in text.split("-"))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a window of the day, like '01:00-06:00'") from error
    return begin, end


def _fold(state: State, now: Activity | None, now_s: float) -> State:
    if now is None or _tells_nothing(now):
        return replace(
            state, blind_readings=state.blind_readings + 1, quiet_since_s=None, why="an answer of the server"
        )
    busy = _busy(state.last, now)
    quiet_since = None if busy else (now_s if state.quiet_since_s is None else state.quiet_since_s)
    return replace(state, last=now, blind_readings=0, quiet_since_s=quiet_since, why=busy or "more quiet time")


def _busy(last: Activity | None, now: Activity) -> str:
    """What keeps the server busy, in words; empty when nothing does."""
    if (now.running or 0) + (now.waiting or 0) > 0:
        return f"{now.running or 0} running and {now.waiting or 0} waiting request(s)"
    if last is None:
        return ""
    if (now.finished or 0) < (last.finished or 0) or (now.generation_tokens or 0) < (last.generation_tokens or 0):
        return "quiet: the engine was restarted since the last look"
    foreign = _grown(last.finished, now.finished) - (now.own_requests - last.own_requests)
    if foreign > 0:
        return f"quiet: {foreign} request(s) were served since the last look"
    tokens = _grown(last.generation_tokens, now.generation_tokens) + _grown(last.prompt_tokens, now.prompt_tokens)
    if now.finished is None and tokens > now.own_tokens - last.own_tokens:
        return "quiet: tokens were produced since the last look"
    return ""


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


def _minute(text: str) -> int:
    hours, minutes = (int(part) for part in text.strip().split(":"))
    if not (0 <= hours < 24 and 0 <= minutes < 60):
        raise ValueError(text)
    return hours * 60 + minutes
