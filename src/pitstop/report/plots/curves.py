"""A value against rising steps, every sample shown: throughput against concurrency, prefill by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from pitstop.report.plots.frame import Box, Size, Wording, axis_title, colour, in_unit, left_axis, legend, level_axis
from pitstop.report.plots.scale import Scale, logarithmic, plottable, scale_for
from pitstop.report.plots.svg import dots, fit, group, line, picture, polyline, text, text_width

_HEIGHT_PX = 210.0


@dataclass(frozen=True)
class Curve:
    """One arm or engine: samples per step."""

    name: str
    samples: Mapping[int, tuple[float, ...]]


def curves(
    title: str, unit: str, steps: str, lines: Sequence[Curve], size: Size = Size.HALF, *, knee: int | None = None
) -> Markup:
    """Medians joined by a line, samples as dots; `knee` marks the step after which more does not pay."""
    levels = sorted({level for each in lines for level in each.samples})
    keys, key_height = legend([each.name for each in lines], size.value)
    known = plottable(value for each in lines for samples in each.samples.values() for value in samples)
    top = key_height + 30
    up = _upward(known, top + _HEIGHT_PX, top)
    wording = in_unit(unit)
    gutter = max([text_width(wording(tick), 11) for tick in up.ticks], default=0) + 10
    box = Box(gutter, top, size.value - 12, top + _HEIGHT_PX, size.value)
    places = _places(levels, box)
    parts = [*keys, *left_axis(up, box, axis_title(unit), wording)]
    parts += level_axis([f"{level:,}" for level in levels], list(places.values()), box, steps)
    if knee in places:
        parts += _knee(places[knee], f"knee at {knee:,}", box)
    parts += [_drawn(each, index, places, up, len(lines)) for index, each in enumerate(lines)]
    return picture(size.value, box.bottom + 42, _aloud(title, steps, lines, wording), parts)


def _upward(known: Sequence[float], bottom: float, top: float) -> Scale:
    """From zero, unless that would press the rest flat: first-token times may rise a hundredfold."""
    if known and min(known) > 0 and max(known) / min(known) > 60:
        return logarithmic(min(known), max(known), bottom, top)
    return scale_for(known, bottom, top, zero=True)


def _places(levels: Sequence[int], box: Box) -> dict[int, float]:
    """Steps stand at equal distances: they are usually doubled, and few."""
    step = box.width / max(1, len(levels))
    return {level: box.left + step * (index + 0.5) for index, level in enumerate(levels)}


def _drawn(each: Curve, index: int, places: Mapping[int, float], up: Scale, count: int) -> Markup:
    style, middles, points = colour(index if count > 1 else 1), [], []
    for level in sorted(each.samples):
        known = plottable(each.samples[level])
        x = places[level] + (index - (count - 1) / 2) * 5  # arms stand beside each other
        points += [(x, up(value)) for value in known]
        middles += [(x, up(median(known)))] if known else []
    return group(
        [polyline(middles, f"curve {style}"), dots(points, style), dots(middles, f"middle {style}")], each.name
    )


def _knee(x: float, label: str, box: Box) -> list[Markup]:
    right = x + 6 + text_width(label, 11) < box.right
    place = text(x + 6 if right else x - 6, box.top + 10, fit(label, box.width), "note", "start" if right else "end")
    return [line(x, box.top, x, box.bottom, "knee"), place]


def _aloud(title: str, steps: str, lines: Sequence[Curve], wording: Wording) -> str:
    told = "; ".join(f"{each.name or title}: {_curve_aloud(each, wording)}" for each in lines[:6])
    return f"{title} against {steps}. {told}"


def _curve_aloud(each: Curve, wording: Wording) -> str:
    medians = ((level, plottable(each.samples[level])) for level in sorted(each.samples))
    return ", ".join(f"{wording(median(known))} at {level:,}" for level, known in medians if known)
