"""Requests per time as a bucket of permits: `60/min` allows 60 at once and one more every second."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RATE = re.compile(r"\s*([1-9][0-9]{0,8})\s*/\s*(s|min|h|d)\s*")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Rate:
    permits: int
    period_s: float


@dataclass(frozen=True)
class Bucket:
    """`level` permits were left at `at_s`."""

    level: float
    at_s: float


def parse_rate(text: str) -> Rate:
    """Read `60/min`; ValueError says which units there are."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a rate such as 60/min; the units are s, min, h and d")
    return Rate(int(match.group(1)), _SECONDS[match.group(2)])


def full(rate: Rate, now_s: float) -> Bucket:
    return Bucket(float(rate.permits), now_s)


def take(bucket: Bucket, rate: Rate, now_s: float) -> tuple[Bucket, float | None]:
    """Take one permit: the new bucket, and None, or the seconds until one will be there.

    A clock that went backwards refills nothing.
    """
    elapsed_s = max(0.0, now_s - bucket.at_s)
    level = min(float(rate.permits), bucket.level + elapsed_s * rate.permits / rate.period_s)
    at_s = max(now_s, bucket.at_s)
    if level >= 1:
        return Bucket(level - 1, at_s), None
    return Bucket(level, at_s), (1 - level) * rate.period_s / rate.permits
