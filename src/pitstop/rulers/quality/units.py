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
    "dollars": {"usd dollar dollars": "1"},
    "pounds": {"£ gbp pound pounds pfund": "1"},
    "francs": {"chf franken francs": "1"},
    "length": {
        "mm millimeter millimeters millimetre millimetres millimetern": "1/1000",
        "cm centimeter centimeters centimetre centimetres zentimeter zentimetern": "1/100",
        "m meter meters metre metres metern": "1",
        "km kilometer kilometers kilometre kilometres kilometern": "1000",
        "mi mile miles meile meilen": "201168/125",
        "ft foot feet fuß": "381/1250",
        "yd yard yards": "1143/1250",
    },
    "time": {
        "s sec secs second seconds sekunde sekunden": "1",
        "min mins minute minutes minuten": "60",
        "h hr hrs hour hours stunde stunden std": "3600",
        "d day days tag tage tagen": "86400",
    },
    "speed": {
        "m/s mps": "1",
        "km/h": "5/18",
        "kmh kph stundenkilometer stundenkilometern": "5/18",
        "mph": "1397/3125",
        "knots knot kn knoten": "463/900",
    },
    "mass": {
        "g gram grams gramm": "1/1000",
        "kg kilogram kilograms kilogramm kilo kilos": "1",
        "t ton tons tonne tonnes tonnen": "1000",
    },
}
_PER = re.compile(r"\s*(?P<one>[^\W\d_]+)\s*(?:/|\b(?:per|pro|je)\b)\s*(?P<other>[^\W\d_]+)", re.IGNORECASE)
_PLANE = re.compile(r"\s*m\s*[·*.]?\s*s\s*(?:\^\s*)?(?:-1|\^\{-1\}|⁻¹)")


def unit_named(name: str) -> Unit | None:
    """The unit of a key, or None when it has none."""
    return _units().get(name.casefold())


def unit_around(text: str, start: int, end: int) -> tuple[Unit | None, int]:
    """The unit of the number at `start:end` and where both end: behind it, or before it as in `€ 5`."""
    per = _PER.match(text, end)
    if per and (compound := _per(per["one"], per["other"])):
        return compound, per.end()
    if inverse := _PLANE.match(text, end):
        return Unit("speed", Fraction(1)), inverse.end()
    behind = re.compile(r"\s*(%|€|£|[^\W\d_]+)").match(text, end)
    if behind and (unit := _units().get(behind[1].casefold())):
        return unit, behind.end()
    before = re.search(r"(€|£|\b(?:EUR|Euro|USD|GBP|CHF))\s*$", text[max(0, start - 8) : start], re.IGNORECASE)
    return (unit_named(before[1]), end) if before else (None, end)


def _per(one: str, other: str) -> Unit | None:
    """`km/h`, `metres per minute`; None where either is no unit."""
    above, below = _units().get(one.casefold()), _units().get(other.casefold())
    if above is None or below is None:
        return None
    kinds = (above.kind, below.kind)
    return Unit("speed" if kinds == ("length", "time") else "/".join(kinds), above.factor / below.factor)


@cache
def _units() -> dict[str, Unit]:
    return {
        spelling.casefold(): Unit(kind, Fraction(factor))
        for kind, group in _TABLE.items()
        for spellings, factor in group.items()
        for spelling in spellings.split()
    }
