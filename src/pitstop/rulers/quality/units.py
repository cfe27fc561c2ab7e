"""Units that answers name: which kind of quantity, and how many of its base unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache


@dataclass(frozen=True)
class Unit:
    kind: str
    factor: Fraction


# kind: {spellings: factor to the base unit}; compared without regard to case
_TABLE: dict[str, dict[str, str]] = {
    "percent": {"% percent prozent pct": "1/100"},
    "money": {"€ eur euro euros": "1", "ct cent cents": "1/100"},
    "length": {
        "mm millimeter millimeters millimetre millimetres millimetern": "1/1000",
        "cm centimeter centimeters centimetre centimetres zentimeter zentimetern": "1/100",
        "m meter meters metre metres metern": "1",
        "km kilometer kilometers kilometre kilometres kilometern": "1000",
    },
    "time": {
        "s sec secs second seconds sekunde sekunden": "1",
        "min mins minute minutes minuten": "60",
        "h hr hrs hour hours stunde stunden std": "3600",
        "d day days tag tage tagen": "86400",
    },
    "speed": {
        "m/s mps meter/sekunde m_per_s": "1",
        "km/h kmh kph km/hr km/std": "5/18",
    },
    "mass": {
        "g gram grams gramm": "1/1000",
        "kg kilogram kilograms kilogramm kilo kilos": "1",
        "t ton tons tonne tonnes tonnen": "1000",
    },
}
_PER = re.compile(
    r"(?P<far>kilomet(?:er|re)s?|kilometern|km|met(?:er|re)s?|metern|m)\s*(?:per|pro|je|/)\s*"
    r"(?P<long>hour|stunde|hr|h|second|sekunde|sec|s)\b",
    re.IGNORECASE,
)
_PLANE = re.compile(r"\s*m\s*(?:·|\*)?\s*s\s*(?:\^\s*)?(?:-1|\^\{-1\}|⁻¹)")


def unit_named(name: str) -> Unit | None:
    """The unit of a key, or None when it has none."""
    return _units().get(name.casefold())


def unit_around(text: str, start: int, end: int) -> tuple[Unit | None, int]:
    """The unit of the number at `start:end` and where both end: behind it, or before it as in `€ 5`."""
    per = _PER.match(text, _past_blanks(text, end))
    if per:
        return _per(per), per.end()
    if inverse := _PLANE.match(text, end):
        return Unit("speed", Fraction(1)), inverse.end()
    behind = re.compile(r"\s*(%|€|[^\W\d_]+(?:/[^\W\d_]+)?)").match(text, end)
    if behind and (unit := _units().get(behind[1].casefold())):
        return unit, behind.end()
    before = re.search(r"(€|\bEUR|\bEuro)\s*$", text[max(0, start - 8) : start], re.IGNORECASE)
    return (Unit("money", Fraction(1)), end) if before else (None, end)


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _per(match: re.Match[str]) -> Unit:
    far = Fraction(1000) if match["far"].casefold().startswith("k") else Fraction(1)
    long = Fraction(3600) if match["long"].casefold() in {"hour", "stunde", "hr", "h"} else Fraction(1)
    return Unit("speed", far / long)


@cache
def _units() -> dict[str, Unit]:
    return {
        spelling.casefold(): Unit(kind, Fraction(factor))
        for kind, group in _TABLE.items()
        for spellings, factor in group.items()
        for spelling in spellings.split()
    }
