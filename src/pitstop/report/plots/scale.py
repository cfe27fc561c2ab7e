"""Scales: from a value to a pixel, with ticks at round numbers. Any finite input gives a finite pixel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

_LARGEST, _SMALLEST = 1e15, 1e-12  # beyond these a number of this tool is an error, not a measurement
_MOST_TICKS = 12


class Scale(Protocol):
    @property
    def ticks(self) -> tuple[float, ...]: ...

    def __call__(self, value: float) -> float: ...


@dataclass(frozen=True)
class Linear:
    """`low` lies at pixel `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...] = ()

    def __call__(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class Logarithmic:
    """As Linear, on the logarithm; what is not positive lies at `start`."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...] = ()

    def __call__(self, value: float) -> float:
        bounded = min(max(value, self.low), self.high)
        share = math.log(bounded / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def plottable(values: Iterable[float | None]) -> list[float]:
    """The values that can be drawn: finite, and of a size that a measurement can have."""
    known = (value for value in values if value is not None and math.isfinite(value) and abs(value) <= _LARGEST)
    return [0.0 if abs(value) < _SMALLEST else value for value in known]


def scale_for(values: Sequence[float], start: float, end: float, *, ticks: int = 5, zero: bool = False) -> Scale:
    """A linear scale, or a logarithmic one where the values differ a hundredfold.

    It starts at zero when `zero` is set or when zero is near enough to be an honest part of the picture.
    """
    known = plottable(values)
    low, high = min(known, default=0.0), max(known, default=1.0)
    if low > 0 and high / low > 100 and not zero:
        return logarithmic(low, high, start, end)
    return linear(0.0 if low >= 0 and (zero or low < 0.35 * high) else low, high, start, end, ticks=ticks, zero=zero)


def linear(low: float, high: float, start: float, end: float, *, ticks: int = 5, zero: bool = False) -> Linear:
    """A linear scale with a margin, so that no mark lies on the frame; a margin never crosses zero."""
    low, high = (0.0 if abs(end) < _SMALLEST else end for end in (low, high))
    margin = 0.08 * (high - low) if high - low > 1e-9 * max(abs(low), abs(high)) else 0.05 * abs(high) or 1.0
    padded_low = low - margin if low < 0 or (low > margin and not zero) else min(low, 0.0)
    padded_high = high + margin if high > 0 or high - low <= 0 else min(0.0, high + margin)
    return Linear(padded_low, padded_high, start, end, round_ticks(padded_low, padded_high, ticks))


def logarithmic(low: float, high: float, start: float, end: float) -> Logarithmic:
    """A logarithmic scale; ticks at 1, 2 and 5 of each decade while there is room, then at decades."""
    low, high = low / 1.15, max(high, low * 1.01) * 1.15
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 3 else (1,)
    every = max(1, math.ceil(len(decades) / 8))
    ticks = tuple(m * 10.0**d for d in decades[::every] for m in steps if low <= m * 10.0**d <= high)
    return Logarithmic(low, high, start, end, ticks)


def round_ticks(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """About `wanted` multiples of 1, 2 or 5 times a power of ten between `low` and `high`."""
    rough = (high - low) / max(1, wanted)
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [m * power for m in (1, 2, 5, 10)]
    fitting = next(index for index, step in enumerate(steps) if step >= rough * 0.999)
    return _multiples(low, high, steps[fitting]) or _multiples(low, high, steps[max(0, fitting - 1)])


def _multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(index * step for index in range(first, min(last, first + _MOST_TICKS) + 1))
