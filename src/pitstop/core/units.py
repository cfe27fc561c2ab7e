"""Quantities as people write them: `12 GiB`, `5 min`, `3 %`.

A size needs its unit, because 12000 MiB, 12 GiB and 12 GB are three numbers, and around 6 GB the difference
decides whether a guard kills. Durations and shares likewise.
"""

from __future__ import annotations

import math
import re

_SIZES = {
    "B": 1,
    "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]+)\s*", re.ASCII)


class Size(int):
    """A number of bytes."""


class Duration(float):
    """A number of seconds."""


class Share(float):
    """A fraction of one: `3 %` is 0.03."""


def parse_size(text: str) -> Size:
    """Read `12 GiB`, `12000MiB` or `12 GB` as bytes; ValueError says which units there are."""
    return Size(round(_quantity(text, _SIZES, "a size", "12 GiB")))


def parse_duration(text: str) -> Duration:
    """Read `5 min`, `90s`, `4 h` as seconds; ValueError says which units there are."""
    return Duration(_quantity(text, _SECONDS, "a duration", "5 min"))


def parse_share(text: str) -> Share:
    """Read `3 %` as 0.03. A bare number is refused: 3 and 0.03 are too easily confused."""
    return Share(_quantity(text, {"%": 0.01}, "a share", "3 %"))


def parse_bandwidth(text: str) -> float:
    """Read `273 GB/s` as bytes a second; ValueError says what is wrong. Makers count in GB, not in GiB."""
    size, slash, per = text.rpartition("/")
    if not slash or per.strip() != "s":
        raise ValueError(f"{text!r} is not a bandwidth with its unit, like '273 GB/s'")
    return float(parse_size(size))


def format_size(size_bytes: float) -> str:
    """Bytes in MiB below 10 GiB and in GiB from there on, as `free` users read them; in KiB below one MiB."""
    if abs(size_bytes) < 2**20:
        return f"{size_bytes / 2**10:.0f} KiB"
    if abs(size_bytes) < 10 * 2**30:
        return f"{size_bytes / 2**20:.0f} MiB"
    return f"{size_bytes / 2**30:.1f} GiB"


def format_duration(seconds: float) -> str:
    """Seconds in the two largest units that fit: `1 h 05 min`, `2 min 07 s`, `4.2 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    return f"{hours // 24} d {hours % 24} h"


def _quantity(text: str, units: dict[str, float] | dict[str, int], noun: str, example: str) -> float:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {noun} with a unit, like {example!r}")
    number, unit = match.groups()
    if unit not in units:
        raise ValueError(f"{text!r}: unknown unit {unit!r}; {noun} takes {', '.join(units)}")
    quantity = float(number) * units[unit]
    if math.isinf(quantity):
        raise ValueError(f"{text[:20]}… is more than {noun} can be")
    return quantity
