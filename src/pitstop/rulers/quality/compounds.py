"""Quantities that are told in two units or more: `2 h 5 min`, `1 m und 20 cm`, `3 kg 250 g` are one number each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from pitstop.rulers.quality.numerals import Numeral
from pitstop.rulers.quality.units import Unit

_BETWEEN = re.compile(r"\s*(?:(?:and|und|&)\s+)?", re.IGNORECASE)
_KINDS = frozenset({"time", "length", "mass"})  # of money, `3 € 50 ct` is read as 3.50 before


def joined(found: Sequence[Numeral], text: str) -> list[Numeral]:
    """The numbers of a text, those that make one quantity together as one, counted in its smallest unit."""
    numbers: list[Numeral] = []
    for number in found:
        whole = _together(numbers[-1], number, text) if numbers else None
        if whole is not None:
            numbers[-1] = whole
        else:
            numbers.append(number)
    return numbers


def _together(first: Numeral, second: Numeral, text: str) -> Numeral | None:
    """Both as one, where the second goes on in a smaller unit of the same kind with less than one of the larger."""
    large, small = first.unit, second.unit
    if large is None or small is None or large.kind != small.kind or large.kind not in _KINDS:
        return None
    if large.factor <= small.factor or not _BETWEEN.fullmatch(text, first.end, second.start):
        return None
    if first.places or len(second.values) != 1 or not all(_is_part(value, large, small) for value in second.values):
        return None
    ratio = large.factor / small.factor
    sums = frozenset(value * ratio + part for value in first.values for part in second.values if value >= 0)
    return replace(second, values=sums, start=first.start)


def _is_part(value: Fraction, large: Unit, small: Unit) -> bool:
    return value >= 0 and value * small.factor < large.factor
