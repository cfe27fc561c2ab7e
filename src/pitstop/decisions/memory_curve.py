"""The memory around one boot, cut out of the guard's rows for the trial's report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

MIB = 2**20
MOST_SAMPLES = 600  # what a plot can show; of each stretch the row with the least memory is kept

Sample = tuple[float, float | None, float | None]  # seconds since `since`, available bytes, swap used in bytes


def memory_curve(rows: Iterable[str], since: str, until: str, floor_bytes: int | None) -> dict[str, object] | None:
    """`{"floor_bytes": …, "samples": [[seconds, available bytes, swap bytes], …]}` of the rows between two times.

    `rows` are the lines of the guard's CSV, header first, cells without quotes; torn and foreign lines are left out.
    None when no row is left.
    """
    began, ended = seconds_of(since), seconds_of(until)
    if began is None or ended is None:
        return None
    header, *lines = [row.rstrip("\r\n").split(",") for row in rows] or [[]]
    cells = (dict(zip(header, line, strict=False)) for line in lines)
    told = ((seconds_of(row.get("time", "")), row) for row in cells)
    samples = [_sample(at - began, row) for at, row in told if at is not None and began <= at <= ended]
    return {"floor_bytes": floor_bytes, "samples": [list(each) for each in _thinned(samples)]} if samples else None


def lowest_available(rows: Iterable[str], since: str, until: str) -> int | None:
    """The least memory that was available between two times, in bytes; None when no row says it."""
    curve = memory_curve(rows, since, until, None)
    samples: list[list[float | None]] = curve["samples"] if curve else []  # type: ignore[assignment]
    return min((int(sample[1]) for sample in samples if sample[1] is not None), default=None)


def seconds_of(text: str) -> float | None:
    """Seconds since the epoch of an ISO 8601 time; None when it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _sample(time_s: float, row: Mapping[str, str]) -> Sample:
    return round(time_s, 3), _bytes(row.get("mem_available_mib", "")), _bytes(row.get("swap_used_mib", ""))


def _thinned(samples: list[Sample]) -> list[Sample]:
    """At most about MOST_SAMPLES, and never without the dip or the last reading, on which the guard acted."""
    every = -(-len(samples) // MOST_SAMPLES)
    stretches = (samples[start : start + every] for start in range(0, len(samples), every))
    lowest = [
        min(stretch, key=lambda sample: float("inf") if sample[1] is None else sample[1]) for stretch in stretches
    ]
    return list(dict.fromkeys([*lowest, samples[-1]]))


def _bytes(mib: str) -> float | None:
    try:
        value = float(mib)
    except ValueError:
        return None
    return value * MIB if 0 <= value < 2**40 else None
