"""Untyped parts of a document (conditions, settings, plans, log entries) as pairs of path and readable value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pitstop.report.clean import one_line, shorten
from pitstop.report.numbers import UNKNOWN, number, percent, seconds, size

_DEPTH, _LONGEST = 6, 400


def entries(value: Mapping[str, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """`("memory.available_bytes", 12)` for every leaf; a list is a leaf. Deeper than six levels stays one value."""
    for key, inner in value.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(inner, Mapping) and inner and depth < _DEPTH:
            yield from entries(inner, name, depth + 1)
        else:
            yield name, inner


def readable(key: str, value: object, depth: int = 0) -> str:
    """A leaf as people read it; the unit is taken from the end of the key (`_bytes`, `_s`, `_share`)."""
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _quantity(key, value)
    parts = list(_parts(value, depth)) if isinstance(value, Mapping | list | tuple) else [one_line(value)]
    return shorten(", ".join(parts) or "none", _LONGEST)


def _parts(value: Mapping[Any, Any] | Sequence[Any], depth: int) -> Iterator[str]:
    """What is inside, to a depth at which nobody reads on."""
    if depth > _DEPTH:
        yield "…"
    elif isinstance(value, Mapping):
        yield from (f"{name} {readable(str(name), inner, depth + 1)}" for name, inner in value.items())
    else:
        yield from (readable("", item, depth + 1) for item in value)


def _quantity(key: str, value: float) -> str:
    if key.endswith("_bytes"):
        return size(value)
    if key.endswith(("_effect", "_share", "_fraction")):
        return percent(value)
    if key.endswith("_s") and not key.endswith("tok_s"):
        return seconds(value)
    return f"{value:,}" if isinstance(value, int) and abs(value) < 10**15 else number(value)
