"""Is it fixed? Counting rare events over time, exactly.

Crashes of one signature are taken as a Poisson process over exposure (hours or days up; any unit, the same for all).
The question "would it have been this quiet anyway?" is answered by the conditional test: given all events before and
after, each fell after the change with probability (exposure after) / (all exposure) if nothing changed. Unlike
exp(-rate x time) this does not pretend that two events tell a rate exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class FixState(StrEnum):
    OPEN = "open"  # nothing speaks for a fix yet
    PROMISING = "promising"  # quiet for twice the earlier mean interval: the second report's own rule
    SUPPORTED = "supported"  # so much quiet would be rare had nothing changed
    REOPENED = "reopened"  # it happened again


@dataclass(frozen=True)
class Window:
    """Events seen over an exposure. ValueError when it cannot be: a negative count, no time at all."""

    events: int
    exposure: float

    def __post_init__(self) -> None:
        if self.events < 0 or not (math.isfinite(self.exposure) and self.exposure >= 0):
            raise ValueError(f"{self.events} events in {self.exposure} of exposure cannot be")
        if self.events and not self.exposure:
            raise ValueError(f"{self.events} events need some exposure to happen in")

    @property
    def mean_interval(self) -> float | None:
        """Exposure per event; None when there was none."""
        return self.exposure / self.events if self.events else None


@dataclass(frozen=True)
class FixAssessment:
    """Exposures are in the unit of the windows; None where the earlier window had no event to compare with."""

    state: FixState
    rate_before: tuple[float, float]  # exact bounds, events per unit
    rate_after: tuple[float, float]
    chance: float | None  # of so few events after, had nothing changed
    chance_if_rate_known: float | None  # the same by exp(-rate x time), as a pocket calculator would
    needed: float | None  # clean exposure in all that makes the chance 1 - confidence
    more_needed: float | None  # of it still to come
    rule: float | None  # clean exposure that the twice-the-interval rule wants
    more_for_rule: float | None


def assess(before: Window, after: Window, *, confidence: float = 0.95) -> FixAssessment:
    """Weigh the quiet since a change against the time before it."""
    interval = before.mean_interval
    chance = None if interval is None else quiet_chance(before, after)
    needed = clean_exposure_needed(before, confidence=confidence)
    rule = None if interval is None else 2 * interval
    return FixAssessment(
        state=_state(after, chance, rule, confidence),
        rate_before=rate_bounds(before, confidence=confidence),
        rate_after=rate_bounds(after, confidence=confidence),
        chance=chance,
        chance_if_rate_known=None if interval is None else _poisson_at_most(after.events, after.exposure / interval),
        needed=needed,
        more_needed=_rest(needed, after),
        rule=rule,
        more_for_rule=_rest(rule, after),
    )


def rate_bounds(window: Window, *, confidence: float = 0.95) -> tuple[float, float]:
    """Exact (Garwood) bounds of the rate, events per unit of exposure; no exposure bounds nothing."""
    if not window.exposure:
        return (0.0, math.inf)
    from scipy.special import gammaincinv  # noqa: PLC0415  # scipy is slow to import

    tail = (1 - confidence) / 2
    low = float(gammaincinv(window.events, tail)) if window.events else 0.0
    return (low / window.exposure, float(gammaincinv(window.events + 1, 1 - tail)) / window.exposure)


def quiet_chance(before: Window, after: Window) -> float:
    """The chance of so few events after, or fewer, had nothing changed. Two in 72 days, then 72 clean days: 1/4."""
    from scipy.special import bdtr  # noqa: PLC0415  # scipy is slow to import

    total = before.exposure + after.exposure
    if not total:
        return 1.0
    return float(bdtr(after.events, before.events + after.events, after.exposure / total))


def clean_exposure_needed(before: Window, *, confidence: float = 0.95) -> float | None:
    """Exposure without an event that would happen by chance less than 1 - confidence; None without earlier events."""
    if not before.events:
        return None
    return before.exposure * math.expm1(-math.log(1 - confidence) / before.events)


@dataclass(frozen=True)
class RateComparison:
    """The second rate over the first. The interval is the test's own: it excludes one when p < 1 - confidence."""

    ratio: float | None  # None when the first had no event
    interval: tuple[float, float]
    p_value: float


def compare_rates(first: Window, second: Window, *, confidence: float = 0.95) -> RateComparison:
    """Two rates by the exact conditional test (Przyborowski and Wilenski 1940), two-sided by doubling."""
    if not (first.exposure and second.exposure):
        raise ValueError("a comparison of rates needs exposure on both sides")
    from scipy.special import bdtr, bdtrc, betaincinv  # noqa: PLC0415  # scipy is slow to import

    k, n = second.events, first.events + second.events
    share = second.exposure / (first.exposure + second.exposure)
    at_least = float(bdtrc(k - 1, n, share)) if k else 1.0
    tail = (1 - confidence) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    scale = first.exposure / second.exposure
    ratio = second.events / first.events * scale if first.events else None
    p_value = min(1.0, 2 * min(float(bdtr(k, n, share)), at_least))
    return RateComparison(ratio, (_odds(low) * scale, _odds(high) * scale), p_value)


def _state(after: Window, chance: float | None, rule: float | None, confidence: float) -> FixState:
    if after.events:
        return FixState.REOPENED
    if chance is None or rule is None:
        return FixState.OPEN
    if chance <= 1 - confidence:
        return FixState.SUPPORTED
    return FixState.PROMISING if after.exposure >= rule else FixState.OPEN


def _rest(wanted: float | None, after: Window) -> float | None:
    """What is missing of a clean exposure; None once it is not clean any more."""
    return None if wanted is None or after.events else max(0.0, wanted - after.exposure)


def _poisson_at_most(events: int, expected: float) -> float:
    from scipy.special import pdtr  # noqa: PLC0415  # scipy is slow to import

    return float(pdtr(events, expected))


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else math.inf
