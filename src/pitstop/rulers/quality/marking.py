"""Whether a stated answer is right: every right form is, and no wrong one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from pitstop.rulers.quality.answers import put_forward
from pitstop.rulers.quality.keys import NumberKey, WordKey, terminates
from pitstop.rulers.quality.numerals import Numeral, numerals
from pitstop.rulers.quality.task import Language
from pitstop.rulers.quality.units import unit_named

_SIDES = re.compile(r"=|≈|≅|\bentspricht\b|\bthat is\b|\bi\.e\.", re.IGNORECASE)
_ROUNDED_FROM = 4  # decimal places from which a rounded value shows that the exact one was known


@dataclass(frozen=True)
class Mark:
    """`got` is what was taken for the answer; `reason` says why it is not right."""

    right: bool
    got: str = ""
    reason: str = ""


def mark_answer(key: NumberKey | WordKey, answer: str, language: Language) -> Mark:
    """Judge a reply in prose."""
    stated = put_forward(answer)
    if not stated:
        return Mark(False, "", "no answer is stated")
    return mark_number(key, stated, language) if isinstance(key, NumberKey) else mark_words(key, stated)


def mark_number(key: NumberKey, stated: str, language: Language) -> Mark:
    """Every number that is stated must be the right one: of `12 = 24/2` both, of `12 or 13` only one."""
    sides = [numerals(side, language) for side in _SIDES.split(stated)]
    singles = [side[0] for side in sides if len(side) == 1] or [number for side in sides for number in side]
    if not singles:
        return _small_word(key, stated)
    if not sides[-1] and len(singles) > 1:
        return Mark(False, stated, "more than one answer is stated")
    wrong = [number for number in singles if not _is(key, number)]
    return Mark(not wrong, stated, f"it is {key.words}" if wrong else "")


def mark_words(key: WordKey, stated: str) -> Mark:
    """The options that are named must be the right ones and no others."""
    named = _named(key, stated)
    if not named:
        return Mark(False, stated, "none of the possible answers is named")
    fits = named == list(key.right) if key.ordered else sorted(named) == sorted(key.right)
    return Mark(fits, stated, "" if fits else f"it is {key.words}")


def _is(key: NumberKey, number: Numeral) -> bool:
    wanted = key.value
    if number.unit is not None:
        unit = unit_named(key.unit)
        if unit is None and number.unit.kind == "percent":
            wanted = key.value / number.unit.factor
        elif unit is None or unit.kind != number.unit.kind:
            return False
        else:
            wanted = key.value * unit.factor / number.unit.factor
    return any(value == wanted or _rounds_to(value, wanted, number.places) for value in number.values)


def _rounds_to(value: Fraction, wanted: Fraction, places: int) -> bool:
    """Whether `value` is `wanted`, which has no end, rounded to at least four places."""
    return places >= _ROUNDED_FROM and not terminates(wanted) and abs(value - wanted) * 2 * 10**places <= 1


def _small_word(key: NumberKey, stated: str) -> Mark:
    """`twelve` is a number too, as long as it is the only one."""
    known = {word: value for value, words in enumerate(_WORDS) for word in words.split()}
    found = [known[word] for word in re.findall(r"[^\W\d_]+", stated.casefold()) if word in known]
    if len(found) != 1:
        return Mark(False, stated, "no number is stated" if not found else "more than one answer is stated")
    right = key.value == found[0]
    return Mark(right, stated, "" if right else f"it is {key.words}")


def _named(key: WordKey, stated: str) -> list[str]:
    spelled = {spelling.casefold(): option for option, forms in key.spellings.items() for spelling in (option, *forms)}
    longest_first = sorted(spelled, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(spelling)}(?!\w)" for spelling in longest_first))
    found = [spelled[match[0]] for match in pattern.finditer(stated.casefold())]
    return list(dict.fromkeys(found))


_WORDS = (
    "zero null", "one eins", "two zwei", "three drei", "four vier", "five fünf", "six sechs", "seven sieben",
    "eight acht", "nine neun", "ten zehn", "eleven elf", "twelve zwölf", "thirteen dreizehn", "fourteen vierzehn",
    "fifteen fünfzehn", "sixteen sechzehn", "seventeen siebzehn", "eighteen achtzehn", "nineteen neunzehn",
    "twenty zwanzig",
)  # fmt: skip
