"""Where a concurrency sweep stops paying: the last level that still bought throughput worth its streams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Half of ideal scaling: twice the streams must bring at least the square root of two (41 %) more tokens a second. Where
# exactly one stops is taste, so it is an argument; what it was is in the result.
WORTH = 0.5


@dataclass(frozen=True)
class Knee:
    """`reached` is False when the last level still paid: the knee lies beyond the sweep."""

    concurrency: int
    throughput: float
    peak_concurrency: int
    peak_throughput: float
    reached: bool
    worth: float


def find_knee(sweep: Sequence[tuple[int, float]], *, worth: float = WORTH) -> Knee | None:
    """The knee of (streams, tokens per second) points; None with fewer than two levels.

    A level pays when log(throughput gain) / log(stream gain) from the last one that paid is `worth` or more (1 is ideal
    scaling). Measured from the last that paid, a single dip in the middle does not end the sweep. ValueError for a
    level that is given twice, or a throughput that is not finite and above zero.
    """
    points = sorted(sweep)
    _check(points)
    if len(points) < 2:
        return None
    best = points[0]
    for level in points[1:]:
        if math.log(level[1] / best[1]) / math.log(level[0] / best[0]) >= worth:
            best = level
    peak = max(points, key=lambda point: point[1])
    return Knee(*best, *peak, reached=best is not points[-1], worth=worth)


def _check(points: Sequence[tuple[int, float]]) -> None:
    levels = [streams for streams, _ in points]
    if len(set(levels)) != len(levels):
        raise ValueError("a concurrency level is given twice; take its median first")
    for streams, throughput in points:
        if streams < 1 or not (math.isfinite(throughput) and throughput > 0):
            raise ValueError(f"{throughput} tokens/s at {streams} streams is no point of a sweep")
