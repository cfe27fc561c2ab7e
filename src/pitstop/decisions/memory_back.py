"""Is the memory of an engine that was stopped really back? Exit codes and absent processes do not tell.

A box whose CPU and GPU share memory gives it back seconds, once minutes, after the process is gone (field reports: 31,
31, 48, 90, 117 GiB in steps of five seconds; another stayed at 31 GiB for ten minutes). A launch before that fails
its own start-up check, or freezes the box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from pitstop.core.units import format_duration, format_size


class Answer(StrEnum):
    WAIT = "wait"
    BACK = "back"
    SETTLED = "settled"  # nothing says how much there should be; it rose no more
    TIMEOUT = "timeout"  # do not launch into this: restore


@dataclass(frozen=True)
class MemoryPolicy:
    """What counts as back. `wanted_bytes` None: not known how much there was before the engine came up."""

    wanted_bytes: int | None
    timeout_s: float = 600.0
    # Three boots in a row on one Spark had 112.15, 112.05 and 111.95 GiB: about 0.1 % each. 2 % is not an engine.
    tolerance: float = 0.02
    settle_s: float = 20.0  # without a wanted size: so long without rising; longer than any pause that was reported
    at_least_bytes: int = 0  # and never below this, such as what was available while the engine was up


@dataclass(frozen=True)
class Waiting:
    """What was seen so far. `risen_at_s` is when the highest value was last exceeded noticeably."""

    began_s: float
    highest_bytes: int = 0
    risen_at_s: float = 0.0


@dataclass(frozen=True)
class Judgement:
    answer: Answer
    reason: str


def begin(now_s: float) -> Waiting:
    return Waiting(began_s=now_s, risen_at_s=now_s)


def decide(state: Waiting, available_bytes: int, policy: MemoryPolicy, now_s: float) -> tuple[Waiting, Judgement]:
    """Judge one reading of MemAvailable. Pure; `now_s` is from any clock that does not jump."""
    state = _seen(state, available_bytes, policy, now_s)
    return state, _judge(state, available_bytes, policy, now_s)


def _seen(state: Waiting, available_bytes: int, policy: MemoryPolicy, now_s: float) -> Waiting:
    step = max(1, round(policy.tolerance * max(state.highest_bytes, available_bytes)))
    if available_bytes >= state.highest_bytes + step:
        return replace(state, highest_bytes=available_bytes, risen_at_s=now_s)
    return state


def _judge(state: Waiting, available_bytes: int, policy: MemoryPolicy, now_s: float) -> Judgement:
    waited = format_duration(now_s - state.began_s)
    have = format_size(available_bytes)
    if policy.wanted_bytes is not None and available_bytes >= policy.wanted_bytes * (1 - policy.tolerance):
        return Judgement(Answer.BACK, f"{have} available again after {waited}")
    floor_met = available_bytes >= policy.at_least_bytes
    if policy.wanted_bytes is None and floor_met and now_s - state.risen_at_s >= policy.settle_s:
        return Judgement(Answer.SETTLED, f"{have} available, and rising no more after {waited}")
    if now_s - state.began_s >= policy.timeout_s:
        return Judgement(Answer.TIMEOUT, f"{_short_of(available_bytes, policy)} after {waited}")
    return Judgement(Answer.WAIT, _short_of(available_bytes, policy))


def _short_of(available_bytes: int, policy: MemoryPolicy) -> str:
    wanted = policy.wanted_bytes if policy.wanted_bytes is not None else policy.at_least_bytes
    gib = 2**30
    return f"memory available is below what is needed ({available_bytes / gib:.2f} < {wanted / gib:.2f} GiB)"
