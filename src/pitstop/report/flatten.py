"""Untyped parts of a document (conditions, settings, plans, log entries) as pairs of path and readable value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pitstop.core.units import format_size
from pitstop.report.clean import one_line, shorten
from pitstop.report.labels import UNKNOWN, number, seconds

_DEPTH, _LONGEST = 6, 400


def entries(value: Mapping[str, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """`("memory.available_bytes", 12)` for every leaf; a list is a leaf. Deeper than six levels stays one value."""
    for key, inner in value.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(inner, Mapping) and inner and depth < _DEPTH:
            yield from entries(inner, name, depth + 1)
        else:
            yield name, inner


def readable(key: str, value: object) -> str:
    """A leaf as people read it; the unit is taken from the end of the key (`_bytes`, `_s`)."""
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _quantity(key, value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return shorten(", ".join(readable("", item) for item in value) or "none", _LONGEST)
    return shorten(one_line(value), _LONGEST)


def _quantity(key: str, value: float) -> str:
    if not math.isfinite(value):
        return UNKNOWN
    if key.endswith("_bytes"):
        return format_size(value)
    if key.endswith("_s") and not key.endswith("tok_s"):
        return seconds(value)
    return f"{value:,}" if isinstance(value, int) else number(value)
