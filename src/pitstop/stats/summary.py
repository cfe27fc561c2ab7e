"""A handful of samples in a few numbers. Nothing to summarise gives None; a value that is no number is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """Samples of one thing, in that thing's unit. `sd` is the sample's (n - 1); None for a single sample."""

    n: int
    median: float
    smallest: float
    largest: float
    mean: float
    sd: float | None

    @property
    def spread(self) -> float:
        """Largest minus smallest: with three runs anything finer pretends to know a distribution."""
        return self.largest - self.smallest


def summarise(samples: Iterable[float]) -> Summary | None:
    """Median, range, mean and sd; None when there is no sample. ValueError for NaN or infinity."""
    values = _checked(samples)
    if not values:
        return None
    centre = math.fsum(values) / len(values)
    return Summary(len(values), _at(values, 0.5), values[0], values[-1], centre, sd(values))


def median(samples: Iterable[float]) -> float | None:
    return quantile(samples, 0.5)


def quantile(samples: Iterable[float], share: float) -> float | None:
    """The value below which `share` of the samples lie, by linear interpolation (Hyndman and Fan's type 7, numpy's)."""
    if not 0 <= share <= 1:
        raise ValueError(f"a quantile's share lies between 0 and 1, not at {share}")
    values = _checked(samples)
    return _at(values, share) if values else None


def mean(samples: Iterable[float]) -> float | None:
    values = _checked(samples)
    return math.fsum(values) / len(values) if values else None


def sd(samples: Iterable[float]) -> float | None:
    """The sample standard deviation (n - 1); None below two samples."""
    values = _checked(samples)
    if len(values) < 2:
        return None
    centre = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def geometric_mean(samples: Iterable[float]) -> float | None:
    """The mean of ratios; None when there is no sample. ValueError unless all are above zero."""
    values = _checked(samples)
    if values and values[0] <= 0:
        raise ValueError(f"a geometric mean needs numbers above zero, not {values[0]}")
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def _at(ordered: Sequence[float], share: float) -> float:
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    weight = position - below
    return ordered[below] * (1 - weight) + ordered[above] * weight


def _checked(samples: Iterable[float]) -> list[float]:
    values = sorted(samples)
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"{value} is no sample")
    return values
