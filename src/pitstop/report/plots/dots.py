"""One row per condition, every sample a dot: decode by condition, quality scores, whatever has a median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pitstop.report.numbers import UNKNOWN, finite
from pitstop.report.plots.frame import Box, Size, Wording, axis_title, bottom_axis, colour, in_unit
from pitstop.report.plots.scale import Scale, plottable, scale_for
from pitstop.report.plots.svg import dots, fit, group, line, picture, rectangle, text, text_width

_ROW_PX, _HEADING_PX, _LABEL_PX = 26.0, 26.0, 17.0


@dataclass(frozen=True)
class DotRow:
    """One condition. `note` replaces the value where there is none to quote; `heading` opens a group."""

    label: str
    samples: tuple[float, ...]
    value: float | None
    series: int = 0
    heading: str = ""
    bounds: tuple[float, float] | None = None
    note: str = ""


def dot_rows(title: str, unit: str, rows: Sequence[DotRow], size: Size = Size.WIDE) -> Markup:
    """Rows of dots over one axis, the median as a bar, its value on the right."""
    narrow = size is Size.NARROW
    wording = in_unit(unit)
    value_room = max([text_width(_value_text(row, wording), bold=True) for row in rows], default=0) + 20
    label_room = 0.0 if narrow else min(300.0, max([text_width(row.label) for row in rows], default=0) + 18)
    box = Box(
        label_room + 6, 6, size.value - min(value_room, 150), 6 + sum(_height(row, narrow) for row in rows), size.value
    )
    known = [value for row in rows for value in plottable([*row.samples, row.value, *(row.bounds or ())])]
    scale = scale_for(_not_magnified(known), box.left, box.right)
    parts = bottom_axis(scale, box, axis_title(unit), wording)
    top = box.top
    for row in rows:
        parts.append(_drawn(row, scale, box, top, wording, narrow=narrow))
        top += _height(row, narrow)
    return picture(size.value, box.bottom + 42, _aloud(title, unit, rows), parts)


def _height(row: DotRow, narrow: bool) -> float:
    return _ROW_PX + (_HEADING_PX if row.heading else 0) + (_LABEL_PX if narrow else 0)


def _drawn(row: DotRow, scale: Scale, box: Box, top: float, wording: Wording, *, narrow: bool) -> Markup:
    parts = []
    if row.heading:
        parts.append(text(0, top + 18, fit(row.heading, box.outer), "heading"))
        top += _HEADING_PX
    if narrow:
        parts.append(text(0, top + 12, fit(row.label, box.outer), "label"))
        top += _LABEL_PX
    else:
        parts.append(text(box.left - 12, top + _ROW_PX / 2 + 4, fit(row.label, box.left - 18), "label", "end"))
    return group([*parts, *_marks(row, scale, box, top + _ROW_PX / 2, wording)], _row_aloud(row, wording))


def _marks(row: DotRow, scale: Scale, box: Box, middle: float, wording: Wording) -> list[Markup]:
    style = colour(row.series)
    parts = [line(box.left, middle, box.right, middle, "rail")]
    bounds = plottable(row.bounds or ())
    if len(bounds) == 2:
        left, right = sorted(map(scale, bounds))
        parts.append(rectangle(left, middle - 8, max(1.0, right - left), 16, f"bounds {style}", rounded=2))
    places = enumerate(map(scale, plottable(row.samples)))
    parts.append(dots(((x, middle + _scatter(index, len(row.samples))) for index, x in places), style))
    middles = map(scale, plottable([row.value]))
    parts += [line(x, middle - 9, x, middle + 9, f"median {style}") for x in middles]
    parts.append(text(box.right + 10, middle + 4, _value_text(row, wording), "note" if row.note else "value"))
    return parts


def _scatter(index: int, count: int) -> float:
    """A vertical offset that keeps equal samples apart; the same every time. 0.618 spreads any number evenly."""
    return 0.0 if count < 2 else ((index * 0.6180339887) % 1 - 0.5) * 12


def _not_magnified(known: list[float]) -> list[float]:
    """The values, and a tenth beyond them on both sides: noise of a percent should look like noise of a percent."""
    return [*known, 0.9 * min(known), 1.1 * max(known)] if known and min(known) > 0 else known


def _value_text(row: DotRow, wording: Wording) -> str:
    return row.note or (UNKNOWN if row.value is None else wording(row.value))


def _row_aloud(row: DotRow, wording: Wording) -> str:
    known = finite(row.samples)
    spread = f", {wording(min(known))} to {wording(max(known))}" if len(known) > 1 else ""
    return f"{row.label}: {_value_text(row, wording)} ({len(row.samples)} samples{spread})"


def _aloud(title: str, unit: str, rows: Sequence[DotRow]) -> str:
    told = "; ".join(f"{row.heading} {_row_aloud(row, in_unit(unit))}".strip() for row in rows[:12])
    more = f"; and {len(rows) - 12} more" if len(rows) > 12 else ""
    return f"{title}, {unit}. {told}{more}"
