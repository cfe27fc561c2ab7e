"""Thinking budgets as a trade: time to wait against answers that ended by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pitstop.report.numbers import percent, seconds
from pitstop.report.plots.frame import Box, Size, bottom_axis, left_axis
from pitstop.report.plots.scale import Linear, Scale, plottable, round_ticks, scale_for
from pitstop.report.plots.svg import dots, group, picture, polyline, text, text_width

_HEIGHT_PX = 210.0


@dataclass(frozen=True)
class Trade:
    """One budget: seconds to an answer, share of answers that ended by themselves."""

    label: str
    time_s: float
    finished: float
    chosen: bool = False


def frontier(title: str, trades: Sequence[Trade], size: Size = Size.HALF) -> Markup:
    """A point per budget; the line joins those that no other beats on both counts."""
    known = [each for each in trades if len(plottable([each.time_s, each.finished])) == 2]
    top = 30.0
    box = Box(52, top, size.value - 24, top + _HEIGHT_PX, size.value)
    along = scale_for([each.time_s for each in known], box.left, box.right)
    up = Linear(-0.04, 1.08, box.bottom, box.top, round_ticks(0.0, 1.0, 5))
    parts = [*left_axis(up, box, "answers that ended by themselves", lambda share: f"{share * 100:.0f} %")]
    parts += bottom_axis(along, box, "median time of an answer", seconds)
    parts.append(polyline([(along(e.time_s), up(e.finished)) for e in unbeaten(known)], "curve s1"))
    parts += _points(known, along, up, box)
    told = "; ".join(map(_aloud, trades[:12]))
    return picture(size.value, box.bottom + 42, f"{title}. {told}", parts)


def unbeaten(trades: Sequence[Trade]) -> list[Trade]:
    """Those for which no other is at least as quick and finishes more, in order of time."""
    best, kept = -1.0, []
    for each in sorted(trades, key=lambda trade: (trade.time_s, -trade.finished)):
        if each.finished > best:
            best = each.finished
            kept.append(each)
    return kept


def _points(trades: Sequence[Trade], along: Scale, up: Linear, box: Box) -> list[Markup]:
    taken: list[tuple[float, float, float, float]] = []
    parts = []
    for each in sorted(trades, key=lambda trade: not trade.chosen):
        x, y = along(each.time_s), up(each.finished)
        marks = [dots([(x, y)], "point chosen" if each.chosen else "point s1"), *_label(each.label, x, y, box, taken)]
        parts.append(group(marks, _aloud(each)))
    return parts


def _label(label: str, x: float, y: float, box: Box, taken: list[tuple[float, float, float, float]]) -> list[Markup]:
    """The name beside its point, at the first of four places that is free; left out when none is."""
    wide = text_width(label)
    for left, base in ((x + 10, y + 4), (x - 10 - wide, y + 4), (x - wide / 2, y - 11), (x - wide / 2, y + 21)):
        area = (left, base - 11, left + wide, base + 3)
        free = not any(_overlap(area, other) for other in taken)
        if free and area[0] >= box.left and area[2] <= box.right + 20 and area[1] >= box.top - 10:
            taken.append(area)
            return [text(left, base, label, "label")]
    return []


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _aloud(each: Trade) -> str:
    return f"budget {each.label}: {percent(each.finished)} ended by themselves, {seconds(each.time_s)}"
