"""The verdicts in one picture: ratio and interval per figure, against the minimum effect and the noise floor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pitstop.report.numbers import UNKNOWN, change, change_interval, round_percent
from pitstop.report.plots.frame import Box, Size, bottom_axis
from pitstop.report.plots.scale import Linear, round_ticks
from pitstop.report.plots.svg import dots, fit, group, line, picture, polygon, rectangle, text, text_width

_ROW_PX, _LABEL_PX = 30.0, 18.0
_FURTHEST = math.log(11)  # a change beyond tenfold is drawn as an arrow to the edge
_COARSE = (-0.9, -0.75, -0.5, 0.0, 1.0, 3.0, 9.0)


@dataclass(frozen=True)
class ForestRow:
    """One verdict. `tone` is the style of its word: good, bad, warn, plain, muted."""

    label: str
    ratio: float | None
    interval: tuple[float, float] | None
    minimum_effect: float
    noise_floor: float | None
    word: str
    tone: str


def forest(title: str, rows: Sequence[ForestRow], size: Size = Size.WIDE) -> Markup:
    """Points with intervals on the logarithm of the ratio; the band is ± the minimum effect, dashes the noise floor."""
    narrow = size is Size.NARROW
    words = max([text_width(row.word, bold=True) for row in rows], default=0) + 18
    labels = 0.0 if narrow else min(460.0, max([text_width(row.label) for row in rows], default=0) + 18)
    height = _ROW_PX + (_LABEL_PX if narrow else 0)
    box = Box(labels + 6, 6, size.value - min(words, 140), 6 + height * len(rows), size.value)
    scale = _scale(rows, box)
    parts = [line(scale(0), box.top, scale(0), box.bottom, "base")]
    tops = [box.top + index * height for index in range(len(rows))]
    bands = [_band(row, scale, top + height - _ROW_PX, _ROW_PX) for row, top in zip(rows, tops, strict=True)]
    drawn = [_drawn(row, scale, box, top, narrow) for row, top in zip(rows, tops, strict=True)]
    axis = bottom_axis(scale, box, "change against production", lambda log: round_percent(math.expm1(log)))
    return picture(size.value, box.bottom + 42, _aloud(title, rows), [*bands, *axis, *parts, *drawn])


def _scale(rows: Sequence[ForestRow], box: Box) -> Linear:
    known = [log for row in rows for log in _logs((row.ratio, *(row.interval or ())))]
    bands = [math.log1p(min(row.minimum_effect, 10)) for row in rows if row.minimum_effect > 0]
    reach = min(_FURTHEST, max([abs(log) for log in known] + [1.6 * band for band in bands] + [0.02]) * 1.12)
    return Linear(
        -reach, reach, box.left, box.right, tuple(map(math.log1p, _ticks(reach, 4 if box.width < 400 else 7)))
    )


def _ticks(reach: float, wanted: int) -> Sequence[float]:
    low, high = math.expm1(-reach), math.expm1(reach)
    if reach > math.log(1.8):
        return [tick for tick in _COARSE if low <= tick <= high]
    return [tick for tick in round_ticks(low, high, wanted) if tick > -1]


def _logs(ratios: Sequence[float | None]) -> list[float]:
    return [math.log(ratio) for ratio in ratios if ratio is not None and math.isfinite(ratio) and ratio > 0]


def _band(row: ForestRow, scale: Linear, top: float, height: float) -> Markup:
    reach = math.log1p(row.minimum_effect) if 0 <= row.minimum_effect < math.inf else 0.0
    parts = [rectangle(scale(-reach), top, scale(reach) - scale(-reach), height, "band")]
    if row.noise_floor is not None and 0 < row.noise_floor < math.inf:
        noise = math.log1p(row.noise_floor)
        parts += [line(scale(side), top, scale(side), top + height, "floor") for side in (-noise, noise)]
    return Markup().join(parts)


def _drawn(row: ForestRow, scale: Linear, box: Box, top: float, narrow: bool) -> Markup:
    if narrow:
        parts = [text(0, top + 13, fit(row.label, box.outer), "label")]
        top += _LABEL_PX
    else:
        parts = [text(box.left - 12, top + _ROW_PX / 2 + 4, fit(row.label, box.left - 18), "label", "end")]
    middle = top + _ROW_PX / 2
    parts.append(line(box.left, middle, box.right, middle, "rail"))
    parts += [*_whisker(row, scale, middle), *_point(row, scale, middle)]
    parts.append(text(box.right + 12, middle + 4, fit(row.word, 128), f"word {row.tone}"))
    return group(parts, _row_aloud(row))


def _whisker(row: ForestRow, scale: Linear, middle: float) -> list[Markup]:
    if row.interval is None or any(math.isnan(bound) for bound in row.interval):
        return []
    low, high = sorted(row.interval)
    ends = [(math.log(bound) if bound > 0 else -math.inf, side) for bound, side in ((low, -1), (high, 1))]
    parts = [line(scale(ends[0][0]), middle, scale(ends[1][0]), middle, f"whisker {row.tone}")]
    return parts + [_end(log, side, scale, middle, row.tone) for log, side in ends]


def _end(log: float, side: int, scale: Linear, middle: float, tone: str) -> Markup:
    """A cap where the interval ends, an arrow head where it goes on beyond the picture."""
    x = scale(log)
    if abs(log) <= scale.high:
        return line(x, middle - 5, x, middle + 5, f"whisker {tone}")
    return polygon([(x, middle), (x - side * 8, middle - 5), (x - side * 8, middle + 5)], f"arrow {tone}")


def _point(row: ForestRow, scale: Linear, middle: float) -> list[Markup]:
    return [dots([(scale(log), middle)], f"point {row.tone}") for log in _logs([row.ratio])]


def _row_aloud(row: ForestRow) -> str:
    interval = "" if row.interval is None else f", interval {change_interval(row.interval)}"
    return f"{row.label}: {UNKNOWN if row.ratio is None else change(row.ratio)}{interval}, {row.word}"


def _aloud(title: str, rows: Sequence[ForestRow]) -> str:
    more = f"; and {len(rows) - 12} more" if len(rows) > 12 else ""
    return f"{title}. " + "; ".join(map(_row_aloud, rows[:12])) + more
