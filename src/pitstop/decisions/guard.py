"""When the memory guard kills, and how soon it looks again: pure functions over readings of `/proc/meminfo`.

Three things kill: MemAvailable below its floor (one sample is enough), swap that has grown by more than its limit
since the start, and a fall so steep that the floor will be crossed before the next reading could act. Low MemFree
alone is the normal state of a box with a page cache; swap that was used before the start, a box without swap and swap
that is added later are no signs of anything. PSI and the driver's kernel lines are evidence, never a trigger.

This module is loaded by the guard's own lean process: it imports nothing that costs memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MIB = 2**20


class Cause(StrEnum):
    FLOOR = "floor"
    SWAP = "swap"
    SLOPE = "slope"
    SOFT_FLOOR = "soft-floor"


SHORTEST_S = 1e-3  # between two readings that a rate may be made of; the clock's own jitter is a hundredth of that


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the memory; None is what this kernel, or this torn read, did not say. Sizes in bytes."""

    available_bytes: int | None = None
    free_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    psi_some_avg10: float | None = None  # per cent of the last ten seconds in which some task waited for memory
    psi_full_avg10: float | None = None
    pages_swapped_out: int | None = None  # since boot
    major_faults: int | None = None  # since boot

    @property
    def swap_used_bytes(self) -> int | None:
        if self.swap_total_bytes is None or self.swap_free_bytes is None:
            return None
        return self.swap_total_bytes - self.swap_free_bytes


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """What the guard was told. Seconds and bytes.

    `fill_rate` and `swap_fill_rate` are how fast memory and swap are taken to fill when nothing is known: 6 GB/s and
    0.8 GB/s are earlyoom's figures, measured there with memory eaters on a desktop. `reaction_s` is the promise from a
    reading to the signal.
    """

    min_available_bytes: int
    max_swap_growth_bytes: int | None = None
    interval_s: float = 1.0
    min_interval_s: float = 0.1
    reaction_s: float = 0.02
    soft_available_bytes: int | None = None  # a higher floor that kills only after `soft_samples` readings in a row
    soft_samples: int = 5
    fill_rate_bytes_s: float = 6e9
    swap_fill_rate_bytes_s: float = 0.8e9
    steep_bytes_s: float = 0.5e9  # a gentler fall passes the floor by at most 60 MB before it is seen: no need to guess

    @property
    def shortest_sleep_s(self) -> float:
        return min(self.min_interval_s, self.interval_s)


@dataclass(frozen=True, slots=True)
class GuardState:
    """What has to be remembered between two readings."""

    swap_baseline_bytes: int | None = None  # used at the first reading that said it
    last_at_s: float | None = None
    last_available_bytes: int | None = None
    last_swap_used_bytes: int | None = None
    fall_bytes_s: float = 0.0  # of MemAvailable between the last two readings; negative while it rises
    previous_fall_bytes_s: float = 0.0
    swap_rise_bytes_s: float = 0.0
    soft_hits: int = 0

    @property
    def steady_fall_bytes_s(self) -> float:
        """The gentler of the last two falls: one big allocation is a step, two in a row are a slope."""
        return max(0.0, min(self.fall_bytes_s, self.previous_fall_bytes_s))

    def swap_growth_bytes(self, reading: Reading) -> int | None:
        used = reading.swap_used_bytes
        return None if used is None or self.swap_baseline_bytes is None else used - self.swap_baseline_bytes


@dataclass(frozen=True, slots=True)
class Decision:
    """`cause` is None while all is well; `reason` is a sentence with every number in two units."""

    cause: Cause | None = None
    reason: str = ""

    @property
    def kill(self) -> bool:
        return self.cause is not None


_GO_ON = Decision()


def decide(state: GuardState, reading: Reading, policy: GuardPolicy, now_s: float) -> tuple[GuardState, Decision]:
    """One step. `now_s` is a monotonic clock; calling it twice with the same state is how one looks again."""
    following = _follow(state, reading, policy, now_s)
    for judge in (_floor, _swap, _slope, _soft_floor):
        decision = judge(following, reading, policy)
        if decision.kill:
            return following, decision
    return following, _GO_ON


def sleep_s(state: GuardState, reading: Reading, policy: GuardPolicy) -> float:
    """Seconds until the next reading: the interval, or less where memory or swap could run out sooner."""
    wait = policy.interval_s
    if reading.available_bytes is not None:
        headroom = reading.available_bytes - policy.min_available_bytes
        wait = min(wait, headroom / max(policy.fill_rate_bytes_s, 2 * state.fall_bytes_s))
    growth = state.swap_growth_bytes(reading)
    if policy.max_swap_growth_bytes is not None and growth is not None and reading.swap_free_bytes:
        headroom = policy.max_swap_growth_bytes - growth
        if headroom <= reading.swap_free_bytes:  # where less than the limit is left, the limit cannot be reached
            wait = min(wait, headroom / max(policy.swap_fill_rate_bytes_s, 2 * state.swap_rise_bytes_s))
    return max(policy.shortest_sleep_s, wait)


def both_units(size_bytes: int) -> str:
    """`6018 MiB (6.31 GB)`: the two are told side by side because the difference has decided kills."""
    return f"{size_bytes / MIB:.0f} MiB ({size_bytes / 1e9:.2f} GB)"


def _follow(state: GuardState, reading: Reading, policy: GuardPolicy, now_s: float) -> GuardState:
    available, swap = reading.available_bytes, reading.swap_used_bytes
    elapsed = 0.0 if state.last_at_s is None else now_s - state.last_at_s
    fall, previous = state.fall_bytes_s, state.previous_fall_bytes_s
    if available is not None and state.last_available_bytes is not None and elapsed >= SHORTEST_S:
        fall, previous = (state.last_available_bytes - available) / elapsed, fall
    rise = state.swap_rise_bytes_s
    if swap is not None and state.last_swap_used_bytes is not None and elapsed >= SHORTEST_S:
        rise = (swap - state.last_swap_used_bytes) / elapsed
    known = available is not None
    return GuardState(
        swap_baseline_bytes=swap if state.swap_baseline_bytes is None else state.swap_baseline_bytes,
        last_at_s=now_s if known else state.last_at_s,
        last_available_bytes=available if known else state.last_available_bytes,
        last_swap_used_bytes=swap if swap is not None else state.last_swap_used_bytes,
        fall_bytes_s=fall,
        previous_fall_bytes_s=previous,
        swap_rise_bytes_s=rise,
        soft_hits=_soft_hits(state, available, policy),
    )


def _soft_hits(state: GuardState, available: int | None, policy: GuardPolicy) -> int:
    if policy.soft_available_bytes is None or available is None:
        return state.soft_hits
    return state.soft_hits + 1 if available < policy.soft_available_bytes else 0


def _floor(_state: GuardState, reading: Reading, policy: GuardPolicy) -> Decision:
    available = reading.available_bytes
    if available is None or available >= policy.min_available_bytes:
        return _GO_ON
    floor = both_units(policy.min_available_bytes)
    return Decision(Cause.FLOOR, f"MemAvailable {both_units(available)} is below the floor of {floor}")


def _swap(state: GuardState, reading: Reading, policy: GuardPolicy) -> Decision:
    growth, limit = state.swap_growth_bytes(reading), policy.max_swap_growth_bytes
    if growth is None or limit is None or growth <= limit:
        return _GO_ON
    return Decision(
        Cause.SWAP,
        f"swap has grown by {both_units(growth)} since the start, more than the limit of {both_units(limit)}",
    )


def _slope(state: GuardState, reading: Reading, policy: GuardPolicy) -> Decision:
    fall = state.steady_fall_bytes_s
    if reading.available_bytes is None or fall < policy.steep_bytes_s:
        return _GO_ON
    headroom = reading.available_bytes - policy.min_available_bytes
    horizon_s = sleep_s(state, reading, policy) + policy.reaction_s
    if headroom > fall * horizon_s:
        return _GO_ON
    return Decision(
        Cause.SLOPE,
        f"MemAvailable {both_units(reading.available_bytes)} is falling by {both_units(round(fall))} per second: it "
        f"would be below the floor of {both_units(policy.min_available_bytes)} before the next reading "
        f"in {horizon_s * 1000:.0f} ms",
    )


def _soft_floor(state: GuardState, reading: Reading, policy: GuardPolicy) -> Decision:
    soft = policy.soft_available_bytes
    if soft is None or reading.available_bytes is None or state.soft_hits < policy.soft_samples:
        return _GO_ON
    return Decision(
        Cause.SOFT_FLOOR,
        f"MemAvailable {both_units(reading.available_bytes)} has been below the soft floor of {both_units(soft)} for "
        f"{state.soft_hits} readings in a row",
    )
