"""Whether a stated answer is right: every right form is, and no wrong one."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction

from pitstop.rulers.quality.answers import hedges, put_forward, without_contrast
from pitstop.rulers.quality.compounds import joined
from pitstop.rulers.quality.keys import NumberKey, WordKey, terminates
from pitstop.rulers.quality.number_words import with_digits
from pitstop.rulers.quality.numerals import Numeral, numerals
from pitstop.rulers.quality.options import named, option_pattern
from pitstop.rulers.quality.plain import plain_text
from pitstop.rulers.quality.stand_ins import stand_ins
from pitstop.rulers.quality.task import Language
from pitstop.rulers.quality.units import unit_named

_SIDES = re.compile(r"(=|≈|≅|\b(?:equals|is|makes?|gives|ist|ergibt|entspricht|that is)\b|\bi\.e\.)", re.IGNORECASE)
_ROUNDED = frozenset("≈≅")
_ROUNDED_FROM = 4  # decimal places from which a rounded value shows that the exact one was known
_CUT_FROM = 8  # and one that was cut off, where nothing says so
_RELATIVE = re.compile(r"\b(?:which|das|also)\b", re.IGNORECASE)
_IN_PASSING = re.compile(r"\b(?:after|for|nach|für)\s+(?:the\s+)?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Mark:
    """`got` is what was taken for the answer; `reason` says why it is not right."""

    right: bool
    got: str = ""
    reason: str = ""


def mark_answer(key: NumberKey | WordKey, answer: str, language: Language) -> Mark:
    """Judge a reply in prose."""
    if isinstance(key, WordKey):
        return _mark_in_words(key, unicodedata.normalize("NFC", answer))
    stated = put_forward(answer, lambda part: _states_number(part, language))
    return mark_number(key, stated, language) if stated else _NOTHING


def mark_number(key: NumberKey, stated: str, language: Language) -> Mark:
    """Every number that is stated must be the right one: of `12 = 24/2` both, of `12 or 13` only one.

    Beside the right one, a rounded one (`≈ 1.67`) has to be rounded rightly.
    """
    sides = _sides(stated, language)
    singles = [side for side in sides if len(side.claimed) == 1] or [
        _Side(side.rounded, (number,)) for side in sides for number in side.claimed
    ]
    if not singles:
        return Mark(False, stated, "no number is stated")
    if not sides[-1].claimed and len(singles) > 1:
        return Mark(False, stated, "more than one answer is stated")
    wrong = [side for side in singles if not _is(key, side.claimed[0])]
    if len(wrong) < len(singles):
        wrong = [side for side in wrong if not (side.rounded and _is(key, side.claimed[0], from_places=0))]
    return Mark(not wrong, stated, f"it is {key.words}" if wrong else "")


def mark_words(key: WordKey, stated: str) -> Mark:
    """The options that are named must be the right ones and no others."""
    stated_last = stated.rpartition("=")[2]
    if not re.search(r"[^\W\d_]", stated_last):  # `no, 9 = 3·3`
        stated_last = stated
    put = named(key, stated_last)
    if not put:
        return Mark(False, stated, "none of the possible answers is named")
    rest = option_pattern(key).sub(" ", stated_last.casefold())
    if hedges(rest) or re.search(r"\+\s*\d", rest) or (key.against and re.search(key.against, rest, re.IGNORECASE)):
        return Mark(False, stated, "the answer is left open, or turned round")
    fits = put == list(key.right) if key.ordered else sorted(set(put)) == sorted(key.right)
    return Mark(fits, stated, "" if fits else f"it is {key.words}")


def _mark_in_words(key: WordKey, answer: str) -> Mark:
    standing = stand_ins(key)
    stated = put_forward(standing.applied(answer), lambda part: bool(named(standing.key, part)))
    mark = mark_words(standing.key, stated) if stated else _NOTHING
    return replace(mark, got=standing.undone(mark.got))


_NOTHING = Mark(False, "", "no answer is stated")


@dataclass(frozen=True)
class _Side:
    """What stands on one side of an equals sign. `rounded`: that sign was `≈`."""

    rounded: bool
    claimed: tuple[Numeral, ...]


def _sides(stated: str, language: Language) -> list[_Side]:
    if not re.search(r"\d", stated):
        stated = plain_text(with_digits(stated))
    parts = ["", *_SIDES.split(stated)]
    sides = []
    for sign, text, following in zip(parts[::2], parts[1::2], [*parts[2::2], ""], strict=True):
        found = joined(numerals(text, language), text)
        if following and len(found) == 1 and _is_context(text, found[0], sign):
            found = []
        passing = [number for number in found if _IN_PASSING.search(text, 0, number.start)]
        claimed = [number for number in found if number not in passing] or found
        once = len({(number.values, number.unit) for number in claimed}) == 1
        sides.append(_Side(sign in _ROUNDED, tuple(claimed[:1] if once else claimed)))
    return sides


def _is_context(text: str, number: Numeral, sign: str) -> bool:
    """Whether the only number left of a sign is not what the right side is: `after 30 rounds x`, but `12, which`."""
    before = re.search(r"\w", text[: number.start])
    after = re.search(r"\w", _RELATIVE.sub("", text[number.end :]))
    return bool(before or (after and not sign))


def _states_number(part: str, language: Language) -> bool:
    """Whether one number is stated, as against none or some that are only mentioned."""
    return any(len(side.claimed) == 1 for side in _sides(without_contrast(part), language))


def _is(key: NumberKey, number: Numeral, from_places: int | None = None) -> bool:
    """`from_places`: decimal places from which a rounded value will do, where the exact one stands beside it."""
    wanted = key.value
    if number.unit is not None:
        unit = unit_named(key.unit)
        if unit is None and number.unit.kind == "percent":
            wanted = key.value / number.unit.factor
        elif unit is None or unit.kind != number.unit.kind:
            return False
        else:
            wanted = key.value * unit.factor / number.unit.factor
    if from_places is None:
        from_places = number.places + 1 if terminates(wanted) else _ROUNDED_FROM
    return any(
        value == wanted or _rounds_to(value, wanted, number.places, from_places) or _begins(number, value, wanted)
        for value in number.values
    )


def _rounds_to(value: Fraction, wanted: Fraction, places: int, from_places: int) -> bool:
    return places >= from_places and abs(value - wanted) * 2 * 10**places <= 1


def _begins(number: Numeral, value: Fraction, wanted: Fraction) -> bool:
    """Whether `value` is the beginning of `wanted`, which has no end: `1.666…`."""
    enough = number.places >= (2 if number.goes_on else _CUT_FROM)
    missing = abs(wanted) - abs(value)
    return enough and not terminates(wanted) and value * wanted > 0 and 0 <= missing * 10**number.places < 1
