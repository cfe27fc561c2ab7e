"""What all plots share: their two sizes, axes whose labels never overlap, the legend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from markupsafe import Markup

from pitstop.report.numbers import number, quantity
from pitstop.report.plots.scale import Scale
from pitstop.report.plots.svg import dots, fit, group, line, text, text_width

Wording = Callable[[float], str]
_GAP = 10.0  # between two labels
SERIES = 8  # colours in the style sheet


class Size(Enum):
    """The width that a plot is drawn for, in pixels; a phone gets its own drawing, so that text stays readable."""

    WIDE = 1040.0
    HALF = 508.0  # two beside each other
    NARROW = 360.0


@dataclass(frozen=True)
class Box:
    """The plotting area inside a picture of `outer` pixels' width."""

    left: float
    top: float
    right: float
    bottom: float
    outer: float

    @property
    def width(self) -> float:
        return self.right - self.left


def bottom_axis(scale: Scale, box: Box, title: str, wording: Wording = number) -> list[Markup]:
    """Vertical grid lines with their values below, and the axis title under them."""
    marks = [line(scale(tick), box.top, scale(tick), box.bottom, "grid") for tick in scale.ticks]
    places = [(scale(tick), wording(tick)) for tick in scale.ticks]
    labels = [text(x, box.bottom + 16, label, "tick", "middle") for x, label in not_overlapping(places, box)]
    return [*marks, *labels, text((box.left + box.right) / 2, box.bottom + 34, title, "axis", "middle")]


def left_axis(scale: Scale, box: Box, title: str, wording: Wording = number) -> list[Markup]:
    """Horizontal grid lines with their values on the left, and the axis title above them."""
    parts = [text(0, box.top - 12, title, "axis")]
    for tick in scale.ticks:
        y = scale(tick)
        parts += [line(box.left, y, box.right, y, "grid"), text(box.left - 6, y + 4, wording(tick), "tick", "end")]
    return parts


def level_axis(levels: Sequence[str], places: Sequence[float], box: Box, title: str) -> list[Markup]:
    """Names of steps along the bottom, as many as have room."""
    shown = not_overlapping(list(zip(places, levels, strict=True)), box)
    labels = [text(x, box.bottom + 16, label, "tick", "middle") for x, label in shown]
    base = line(box.left, box.bottom, box.right, box.bottom, "base")
    return [base, *labels, text((box.left + box.right) / 2, box.bottom + 34, title, "axis", "middle")]


def not_overlapping(places: Iterable[tuple[float, str]], box: Box) -> list[tuple[float, str]]:
    """The centred labels that have room, from left to right; none may leave the picture."""
    kept: list[tuple[float, str]] = []
    free_from = 0.0
    for x, label in sorted(places):
        half = text_width(label, 11) / 2
        if x - half >= free_from and x + half <= box.outer:
            kept.append((x, label))
            free_from = x + half + _GAP
    return kept


def legend(names: Sequence[str], wide: float, top: float = 12) -> tuple[list[Markup], float]:
    """Coloured dots with names, wrapped to `wide` pixels, and the height they take; nothing for fewer than two."""
    if len(names) < 2:
        return [], 0.0
    parts, x, y = [], 0.0, top
    for index, name in enumerate(names):
        shown = fit(name, wide - 24)
        room = 16 + text_width(shown) + 14
        if x and x + room > wide:
            x, y = 0.0, y + 18
        parts.append(group([dots([(x + 6, y - 4)], f"key {colour(index)}"), text(x + 16, y, shown, "label")], name))
        x += room
    return parts, y + 10


def in_unit(unit: str) -> Wording:
    """How a value is written on an axis or beside its mark: times with their unit, rates without."""
    return (lambda value: quantity(value, unit)) if unit in ("s", "fraction", "bytes") else number


def axis_title(unit: str) -> str:
    """The unit, or what is measured where each value already carries its unit."""
    return {"s": "time", "fraction": "share", "bytes": "memory"}.get(unit, unit)


def colour(index: int) -> str:
    """The style sheet's class for the series of this index."""
    return f"s{index % SERIES}"
