"""The few SVG elements that plots are made of. Every string goes through `clean` and Markup's escaping, once, here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Literal

from markupsafe import Markup

from pitstop.report.clean import clean, one_line, shorten, width

Anchor = Literal["start", "middle", "end"]
FONT_PX = 12.0
# How far characters reach, in ems: the upper ends in DejaVu Sans, the widest of the fonts that the pages ask for, so
# that labels fit with every other one too. What is not listed counts as _USUAL, what is not Latin as _FULL.
_NARROW, _USUAL, _FULL, _BOLD = 0.42, 0.69, 1.05, 1.12
_NARROW_ONES = frozenset(" .,:;'|!`/\\()[]{}-ijlfrtI·")
_WIDE_ONES = frozenset("mwMW@%&…−+=<>~≈▲▼")


def coordinate(value: float) -> str:
    """A coordinate with at most one decimal: smaller steps cannot be seen and make the file large."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def text(x: float, y: float, content: str, style: str = "label", anchor: Anchor = "start") -> Markup:
    """One line of text."""
    return Markup('<text x="{}" y="{}" class="{}" text-anchor="{}">{}</text>').format(
        coordinate(x), coordinate(y), style, anchor, one_line(content)
    )


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
        *map(coordinate, (x1, y1, x2, y2)), style
    )


def rectangle(x: float, y: float, wide: float, high: float, style: str, *, rounded: float = 0) -> Markup:
    corner = Markup(' rx="{}"').format(coordinate(rounded)) if rounded else Markup()
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"{}/>').format(
        *map(coordinate, (x, y, max(0.0, wide), max(0.0, high))), style, corner
    )


def dots(points: Iterable[tuple[float, float]], style: str) -> Markup:
    """Any number of dots as one path: zero-length strokes with round ends."""
    path = "".join(f"M{coordinate(x)} {coordinate(y)}h0" for x, y in points)
    return Markup('<path class="dots {}" d="{}"/>').format(style, path) if path else Markup()


def polyline(points: Iterable[tuple[float, float]], style: str) -> Markup:
    path = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
    return Markup('<polyline class="{}" points="{}"/>').format(style, path) if path else Markup()


def polygon(points: Iterable[tuple[float, float]], style: str) -> Markup:
    path = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
    return Markup('<polygon class="{}" points="{}"/>').format(style, path) if path else Markup()


def group(children: Iterable[Markup], tooltip: str = "") -> Markup:
    """Marks that belong together; `tooltip` is shown on hover and read aloud."""
    note = Markup("<title>{}</title>").format(one_line(tooltip)) if tooltip else Markup()
    return Markup("<g>{}{}</g>").format(note, Markup().join(children))


def picture(wide: float, high: float, label: str, children: Iterable[Markup]) -> Markup:
    """The whole SVG; `label` is what a screen reader says instead of the picture."""
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 {0} {1}" width="{0}" height="{1}"'
        ' role="img" aria-label="{2}">{3}</svg>'
    ).format(coordinate(wide), coordinate(high), one_line(clean(label)), Markup().join(children))


def text_width(content: str, size_px: float = FONT_PX, *, bold: bool = False) -> float:
    """About how wide a text will be, in pixels; rather too wide than too narrow."""
    return sum(map(_advance, content)) * size_px * (_BOLD if bold else 1.0)


def fit(content: str, room: float, size_px: float = FONT_PX) -> str:
    """`content`, shortened in the middle when it would not fit into `room` pixels."""
    flat = one_line(content)
    if text_width(flat, size_px) <= room:
        return flat
    limit = min(len(flat), int(room / (size_px * _NARROW)))  # were all of them narrow
    while limit > 1 and text_width(shorten(flat, limit), size_px) > room:
        limit -= 1
    return shorten(flat, max(1, limit))


@cache
def _advance(character: str) -> float:
    if character in _NARROW_ONES:
        return _NARROW
    if character in _WIDE_ONES or character > "\u024f":
        return 0.0 if width(character) == 0 else _FULL
    return _USUAL
