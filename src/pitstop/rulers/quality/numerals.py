r"""Numbers as people and models write them: `1.234,5`, `1,234.5`, `3/4`, `1 1/2`, `\frac{3}{4}`, `1.2 × 10^3`, `50 %`.

`1.234` is one and a bit in English; in German it may be either, for models write German with English numbers too. Both
readings are then given, and one of them being right is enough: to be wrongly taken for right, an answer would have to
be off by exactly a factor of a thousand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from pitstop.rulers.quality.task import Language
from pitstop.rulers.quality.units import Unit, unit_around

_MOST_DIGITS = 400  # longer ones are no answer to anything asked here, and slow to convert
_BLANK = " \u00a0\u2009\u202f"
_GROUPED = rf"\d{{1,3}}(?:[{_BLANK}'’_]\d{{3}})+(?![\d])(?:[.,]\d+)?"
_PLAIN = rf"(?:{_GROUPED}|\d(?:[\d.,]*\d)?|[.,]\d+)"
_TOKEN = re.compile(
    rf"(?<![\w.,])(?P<sign>(?<![\w)\]%])[-+]\s{{0,2}})?(?:"
    rf"(?P<whole>\d+)[{_BLANK}]+(?:and |und )?(?P<top>\d+)\s?/\s?(?P<bottom>\d+)"
    rf"|(?P<over>{_PLAIN})\s?/\s?(?P<flip>-\s?)?(?P<under>{_PLAIN})"
    rf"|(?<![×*·/^])(?<![×*·/^x]\s)10(?:\^|\*\*)(?P<ten>-?\d{{1,3}})(?![\d.,]*\d)"
    rf"|(?P<cyclic>\d*[.,]\d*)\\overline\{{(?P<cycle>\d+)\}}"
    rf"|(?P<plain>{_PLAIN})(?:[eE](?P<e>[-+]?\d{{1,3}})(?!\w)|\s?(?:[×x*·])\s?10(?:\^|\*\*)(?P<power>-?\d{{1,3}}))?"
    rf")(?![\d])"
)

_NEAR_CHARS = 24
_BEFORE = re.compile(
    r"(?:[√±≤≥≠<]|(?<![-=])>|\b(?:at (?:least|most)|(?:more|less|fewer|greater|larger|smaller) than|up to|mindestens"
    r"|höchstens|mehr als|weniger als|bis zu|half(?: of)?|twice|double|hälfte von|doppelte von|doppelt|root of|sqrt"
    r"|wurzel aus|log|ln))\s*[({]?\s*\Z",
    re.IGNORECASE,
)
_GLUED = re.compile(r"[^\W\d_]|_\w")  # 12x, 12k, 12_3
_BEHIND = re.compile(
    r"[²³⁴⁵⁶⁷⁸⁹^°]|\s?[+×·*]\s?[^\W\d]|\s*√|\s?π"
    r"|\s+(?:and|und)\s+(?:an?|eine?n?)\s+(?:half|third|quarter|halb|drittel|viertel)"
    r"|\s*(?:hundred|thousand|[mb]illions?|trillions?|dozen|k|squared|cubed|halves|thirds|quarters|fifths|times|degrees?"
    r"|hundert|tausend|millionen|mio|milliarden?|mrd|billionen|dutzend|hoch|quadrat|halbe|drittel|viertel|fünftel|grad)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Numeral:
    """One number in a text. `values` are its possible readings; `places` its decimal places, where it has any."""

    values: frozenset[Fraction]
    unit: Unit | None
    places: int
    goes_on: bool  # an ellipsis follows
    start: int
    end: int


def numerals(text: str, language: Language) -> list[Numeral]:
    """Every number in a text that `plain_text` has been over, in order. One that cannot be read has no values."""
    found: list[Numeral] = []
    while match := _TOKEN.search(text, found[-1].end if found else 0):
        found.append(_numeral(match, text, language))
    return found


def _numeral(match: re.Match[str], text: str, language: Language) -> Numeral:
    sign = -1 if (match["sign"] or "").strip() == "-" else 1
    values = frozenset(sign * value for value in _values(match, language))
    decimal = re.search(r"[.,](\d+)$", match["plain"] or "")
    places = len(decimal[1]) if decimal else 0
    unit, end = unit_around(text, match.start(), match.end())
    goes_on = text.startswith("…", match.end()) or text.startswith(" …", match.end())
    if _BEFORE.search(text, max(0, match.start() - _NEAR_CHARS), match.start()) or _behind(text, match.end(), end):
        values = frozenset()
    return Numeral(values, unit, places, goes_on, match.start(), end)


def _behind(text: str, end: int, end_of_unit: int) -> bool:
    """Whether something follows that makes it another number, or a part of something that is none."""
    return bool((end == end_of_unit and _GLUED.match(text, end)) or _BEHIND.match(text, end_of_unit))


def _values(match: re.Match[str], language: Language) -> set[Fraction]:
    if match["whole"]:
        return _fraction({Fraction(match["top"])}, {Fraction(match["bottom"])}, Fraction(match["whole"]))
    if match["over"]:
        signed = {-value if match["flip"] else value for value in _plain(match["under"], language)}
        return _fraction(_plain(match["over"], language), signed)
    if match["ten"]:
        return {Fraction(10) ** int(match["ten"])}
    if match["cycle"]:
        return {_cyclic(match["cyclic"].replace(",", "."), match["cycle"])}
    exponent = int(match["e"] or match["power"] or 0)
    return {value * Fraction(10) ** exponent for value in _plain(match["plain"], language)}


def _fraction(tops: set[Fraction], bottoms: set[Fraction], whole: Fraction = Fraction(0)) -> set[Fraction]:
    return {whole + top / bottom for top in tops for bottom in bottoms if bottom}


def _cyclic(start: str, cycle: str) -> Fraction:
    """`0.1` and `6` give 0.1666 and so on."""
    places = len(start.partition(".")[2])
    repeating = Fraction(int(cycle), (10 ** len(cycle) - 1) * 10**places)
    return Fraction(start.rstrip(".") or "0") + repeating


def _plain(token: str, language: Language) -> set[Fraction]:
    """Digits with points and commas, which may separate thousands or decimals."""
    if len(token) > _MOST_DIGITS:
        return set()
    bare = re.sub(rf"[{_BLANK}'’_]", "", token)
    spaced = bare != token
    points, commas = bare.count("."), bare.count(",")
    if points and commas:
        return _both(bare, "," if bare.rfind(",") > bare.rfind(".") else ".")
    mark = "." if points else ","
    if not points and not commas:
        return {Fraction(bare)}
    if points + commas > 1:
        return {Fraction(bare.replace(mark, ""))} if _groups(bare, mark) else set()
    decimal = Fraction(bare.replace(",", "."))
    if spaced or not _groups(bare, mark):
        return {decimal}
    thousands = Fraction(bare.replace(mark, ""))
    return {thousands, decimal} if language == "de" else {thousands} if mark == "," else {decimal}


def _both(bare: str, decimal: str) -> set[Fraction]:
    grouping = "." if decimal == "," else ","
    whole, _, part = bare.rpartition(decimal)
    if not part.isdigit() or not _groups(whole, grouping):
        return set()
    return {Fraction(f"{whole.replace(grouping, '')}.{part}")}


def _groups(digits: str, mark: str) -> bool:
    """Whether the marks stand between groups of three, as in 1,234,567; a leading zero makes it a decimal."""
    return bool(re.fullmatch(rf"[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+", digits))
