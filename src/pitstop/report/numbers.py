"""Numbers as people read them: three digits, a unit, a spread; what is not known is a dash and never a zero."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import fmean, median, stdev
from typing import TypeGuard

from pitstop.core.units import format_duration, format_size

UNKNOWN = "–"  # not known, which is not zero
MINUS = "\N{MINUS SIGN}"
_FAR = 1e6  # from here on digits say less than the power of ten


def number(value: float | None) -> str:
    """Three significant digits, thousands marked: `78.6`, `7,812`, `0.0621`."""
    if not known(value):
        return UNKNOWN
    magnitude = abs(value)
    if magnitude >= 1e9 or 0 < magnitude < 1e-4:
        return f"{value:.2e}".replace("-", MINUS)
    decimals = 0 if magnitude >= 1000 or magnitude == 0 else max(0, 2 - math.floor(math.log10(magnitude)))
    return f"{value:,.{decimals}f}".replace("-", MINUS)


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit as people say it: `62.1 ms`, `78.6 tok/s`, `43.6 %`, `12.0 GiB`."""
    if not known(value):
        return UNKNOWN
    if unit == "s":
        return f"{number(value * 1000)} ms" if abs(value) < 1 else f"{number(value)} s"
    if unit in {"fraction", "share", "ratio", "%"}:
        return f"{number(value if unit == '%' else value * 100)} %"
    if unit in {"B", "bytes"}:
        return size(value)
    return f"{number(value)} {unit}" if unit and unit != "1" else number(value)


def handy_unit(unit: str, value: float | None) -> tuple[float, str]:
    """What to multiply by, and the unit that comes out: short times in `ms`, fractions in `%`."""
    if unit == "s" and value is not None and abs(value) < 1:
        return 1000.0, "ms"
    return (100.0, "%") if unit == "fraction" else (1.0, unit)


def scaled(value: float | None, factor: float) -> float | None:
    """The value in another unit; what is not known stays so."""
    return None if value is None else value * factor


def spread(samples: Iterable[float]) -> str:
    """`[77.9 – 79.1]`: smallest and largest sample; empty for fewer than two."""
    numbers = finite(samples)
    return f"[{number(min(numbers))} – {number(max(numbers))}]" if len(numbers) > 1 else ""


def median_cell(value: float | None, samples: Sequence[float]) -> str:
    """`78.6 [77.9 – 79.1]`: the figure and how far its samples lie apart."""
    numbers = finite(samples)
    shown = number(value if value is not None else median(numbers) if numbers else None)
    return f"{shown} {spread(numbers)}".strip()


def mean_cell(samples: Sequence[float]) -> str:
    """`78.5 ± 0.6`: mean and sample standard deviation, as llama-bench writes it; one sample has no spread."""
    numbers = summable(samples)
    if len(numbers) < 2:
        return number(numbers[0]) if numbers else UNKNOWN
    return f"{number(fmean(numbers))} ± {number(stdev(numbers))}"


def percent(fraction: float | None, *, signed: bool = False) -> str:
    """0.031 as `3.1 %`, with a sign where it is a change."""
    if not known(fraction):
        return UNKNOWN
    value = fraction * 100
    if value == 0:
        return "0 %"
    if abs(value) >= _FAR:
        return f"{number(value)} %"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 0.095 else 2
    return f"{value:{'+' if signed else ''},.{digits}f} %".replace("-", MINUS)


def round_percent(fraction: float) -> str:
    """A round share without needless decimals, for axes: `+10 %`, `2.5 %`."""
    return f"{round(fraction * 100, 6):+,g} %".replace("-", MINUS).replace("+0 %", "0 %")


def change(ratio: float | None) -> str:
    """A ratio of variant over production as a change: 1.031 is `+3.1 %`."""
    return percent(None if ratio is None else ratio - 1, signed=True)


def change_interval(interval: tuple[float, float] | None) -> str:
    """`[+1.2 %, +5.0 %]`, or a dash when there is none."""
    return UNKNOWN if interval is None else f"[{change(interval[0])}, {change(interval[1])}]"


def seconds(value: float | None) -> str:
    """A length of time in its two largest units."""
    if not known(value):
        return UNKNOWN
    return format_duration(value) if abs(value) < _FAR**2 else f"{number(value)} s"


def moment(text: str | None) -> str:
    """An ISO 8601 time as `2026-10-19 01:15:30 UTC`; what is not one stays as it is."""
    try:
        told = datetime.fromisoformat(text or "")
        at = told.astimezone(UTC) if told.tzinfo else told
    except (ValueError, OverflowError):
        return text or UNKNOWN
    return f"{at:%Y-%m-%d %H:%M:%S}{' UTC' if told.tzinfo else ''}"


def size(value: float | None) -> str:
    """Bytes in MiB or GiB."""
    if not known(value):
        return UNKNOWN
    return format_size(value) if abs(value) < _FAR**3 else f"{number(value)} B"


def known(value: float | None) -> TypeGuard[float]:
    """Whether there is a number that can be shown: given, finite, and within what a float can hold."""
    return value is not None and -sys.float_info.max <= value <= sys.float_info.max


def finite(samples: Iterable[float | None]) -> list[float]:
    """The samples that are numbers."""
    return [float(value) for value in samples if known(value)]


def summable(samples: Iterable[float | None]) -> list[float]:
    """The samples whose squares can be added up; a larger one is no measurement."""
    return [value for value in finite(samples) if abs(value) < 1e100]
