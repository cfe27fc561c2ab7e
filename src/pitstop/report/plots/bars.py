"""Shares as bars from nothing to all of it: what each model keeps while the other works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pitstop.report.numbers import percent
from pitstop.report.plots.frame import Box, Size, bottom_axis, colour
from pitstop.report.plots.scale import Linear, plottable, round_ticks
from pitstop.report.plots.svg import dots, fit, group, line, picture, rectangle, text, text_width

_ROW_PX, _LABEL_PX = 30.0, 18.0


@dataclass(frozen=True)
class Bar:
    """A fraction of one, and its samples."""

    label: str
    share: float | None
    samples: tuple[float, ...] = ()
    note: str = ""
    series: int = 1


def share_bars(title: str, axis: str, rows: Sequence[Bar], size: Size = Size.WIDE) -> Markup:
    """One bar a row; the axis always holds 0 and 100 %, so that bars compare by length."""
    narrow = size is Size.NARROW
    labels = 0.0 if narrow else min(320.0, max([text_width(row.label) for row in rows], default=0) + 18)
    height = _ROW_PX + (_LABEL_PX if narrow else 0)
    box = Box(labels + 6, 6, size.value - 96, 6 + height * len(rows), size.value)
    most = max([1.0, *(value for row in rows for value in plottable([row.share, *row.samples]))])
    scale = Linear(0.0, most * 1.02, box.left, box.right, round_ticks(0.0, most, 5))
    parts = [
        *bottom_axis(scale, box, axis, lambda share: f"{share * 100:.0f} %"),
        line(scale(1), box.top, scale(1), box.bottom, "base"),
    ]
    parts += [_drawn(row, scale, box, box.top + index * height, narrow) for index, row in enumerate(rows)]
    told = "; ".join(map(_aloud, rows[:12]))
    return picture(size.value, box.bottom + 42, f"{title}. {told}", parts)


def _drawn(row: Bar, scale: Linear, box: Box, top: float, narrow: bool) -> Markup:
    if narrow:
        parts = [text(0, top + 13, fit(row.label, box.outer), "label")]
        top += _LABEL_PX
    else:
        parts = [text(box.left - 12, top + _ROW_PX / 2 + 4, fit(row.label, box.left - 18), "label", "end")]
    middle, style = top + _ROW_PX / 2, colour(row.series)
    for share in plottable([row.share]):
        parts.append(rectangle(box.left, middle - 8, scale(share) - box.left, 16, f"bar {style}", rounded=2))
    parts.append(dots([(scale(value), middle) for value in plottable(row.samples)], "over"))
    parts.append(
        text(box.right + 10, middle + 4, fit(row.note or percent(row.share), 84), "note" if row.note else "value")
    )
    return group(parts, _aloud(row))


def _aloud(row: Bar) -> str:
    return f"{row.label}: {row.note or percent(row.share)}"
