"""Memory over time around a boot: what was available, the floor, and where the guard stopped the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pitstop.report.numbers import number, seconds
from pitstop.report.numbers import size as size_text
from pitstop.report.plots.frame import Box, Size, bottom_axis, left_axis, legend
from pitstop.report.plots.scale import Scale, plottable, scale_for
from pitstop.report.plots.svg import fit, line, picture, polyline, text

_HEIGHT_PX = 210.0
_GIB = 2.0**30
_MOST_POINTS = 400  # per line: about one for two pixels


@dataclass(frozen=True)
class MemoryCurve:
    """Samples of (seconds since the start, available bytes, swap used in bytes), in order of time."""

    samples: tuple[tuple[float, float | None, float | None], ...]
    floor_bytes: float | None = None


def memory_plot(title: str, curve: MemoryCurve, size: Size = Size.HALF) -> Markup:
    """Available memory and swap as lines over time, in GiB from zero, with the guard's floor."""
    available = lowest_kept([(t, a) for t, a, _ in curve.samples if _both(t, a) and a is not None])
    swap = lowest_kept([(t, s) for t, _, s in curve.samples if _both(t, s) and s is not None])
    keys, key_height = legend(["available", "swap used"] if swap else ["available"], size.value)
    top = key_height + 30
    heights = [value / _GIB for _, value in available + swap] + [f / _GIB for f in plottable([curve.floor_bytes])]
    up = scale_for(heights, top + _HEIGHT_PX, top, zero=True)
    box = Box(48, top, size.value - 24, top + _HEIGHT_PX, size.value)
    along = scale_for([0.0, *(t for t, _ in available + swap)], box.left, box.right, zero=True)
    parts = [*keys, *left_axis(up, box, "GiB", number), *bottom_axis(along, box, "time since the start", seconds)]
    parts += [
        polyline([(along(t), up(v / _GIB)) for t, v in points], f"curve s{i}")
        for i, points in enumerate((available, swap))
    ]
    parts += _floor(curve.floor_bytes, up, box)
    least = min((value for _, value in available), default=None)
    told = "" if least is None else f" Least available: {size_text(least)}."
    return picture(size.value, box.bottom + 42, f"{title}.{told}", parts)


def lowest_kept(points: Sequence[tuple[float, float]], most: int = _MOST_POINTS) -> list[tuple[float, float]]:
    """About `most` points at most: both ends, and the lowest of each stretch, because the dip is what counts."""
    if len(points) <= most:
        return list(points)
    every = -(-len(points) // most)
    lowest = [min(points[start : start + every], key=lambda point: point[1]) for start in range(0, len(points), every)]
    return list(dict.fromkeys([points[0], *lowest, points[-1]]))


def _both(time_s: float, value: float | None) -> bool:
    return len(plottable([time_s, value])) == 2


def _floor(floor_bytes: float | None, up: Scale, box: Box) -> list[Markup]:
    return [
        part
        for value in plottable([floor_bytes])
        for part in (
            line(box.left, up(value / _GIB), box.right, up(value / _GIB), "limit"),
            text(box.right, up(value / _GIB) - 5, fit(f"floor {size_text(value)}", box.width), "note", "end"),
        )
    ]
