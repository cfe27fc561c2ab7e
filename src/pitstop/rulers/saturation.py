"""Whether a server has more streams than it can use, judged from the levels measured so far. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FALLEN = 0.9  # of the best throughput so far: less is no noise of three runs
GAINED = 1.02  # over the best so far: less buys nothing
SLOWER = 2.0  # the second report saw TTFT double where a machine had more to do than it could


@dataclass(frozen=True)
class Level:
    """One level of a sweep: median throughput, 95th percentile of the time to the first token, failed requests."""

    streams: int
    throughput_tok_s: float | None
    ttft_p95_s: float | None
    failed: int = 0
    failure: str = ""


def over_saturated(levels: Sequence[Level]) -> str:
    """Why more streams are of no use after the last of `levels`, in ascending order; "" when they may be."""
    if not levels:
        return ""
    *earlier, last = levels
    if last.failed:
        return f"{last.failed} requests failed at {last.streams} streams: {last.failure}"
    best = max((level for level in earlier if level.throughput_tok_s), key=_throughput, default=None)
    if best is None or last.throughput_tok_s is None:
        return ""
    if last.throughput_tok_s < FALLEN * _throughput(best):
        return f"throughput fell from {_told(best)} to {_told(last)}"
    if last.throughput_tok_s < GAINED * _throughput(best) and _slower(best, last):
        return (
            f"{_told(last)} is no more than {_told(best)}, and the time to the first token grew {_growth(best, last)}"
        )
    return ""


def _throughput(level: Level) -> float:
    return level.throughput_tok_s or 0.0


def _slower(best: Level, last: Level) -> bool:
    return bool(best.ttft_p95_s and last.ttft_p95_s and last.ttft_p95_s >= SLOWER * best.ttft_p95_s)


def _growth(best: Level, last: Level) -> str:
    return f"from {best.ttft_p95_s or 0:.2f} to {last.ttft_p95_s or 0:.2f} s (95th percentile)"


def _told(level: Level) -> str:
    return f"{_throughput(level):.1f} tok/s at {level.streams} streams"
