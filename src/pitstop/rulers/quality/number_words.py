"""Whole numbers below a hundred in words: `twenty-one`, `einundzwanzig`."""

from __future__ import annotations

import re
from functools import cache

_SMALL = (
    "zero null", "one eins", "two zwei", "three drei", "four vier", "five fünf", "six sechs", "seven sieben",
    "eight acht", "nine neun", "ten zehn", "eleven elf", "twelve zwölf", "thirteen dreizehn", "fourteen vierzehn",
    "fifteen fünfzehn", "sixteen sechzehn", "seventeen siebzehn", "eighteen achtzehn", "nineteen neunzehn",
)  # fmt: skip
_TENS = (
    "twenty zwanzig", "thirty dreißig", "forty vierzig", "fifty fünfzig", "sixty sechzig", "seventy siebzig",
    "eighty achtzig", "ninety neunzig",
)  # fmt: skip


def with_digits(text: str) -> str:
    """The text with such numbers in digits."""
    pattern = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in sorted(_known(), key=len, reverse=True)))
    return pattern.sub(lambda word: str(_known()[word[0]]), text.casefold())


@cache
def _known() -> dict[str, int]:
    known = {word: value for value, words in enumerate(_SMALL) for word in words.split()}
    for ten, words in enumerate(_TENS, 2):
        english, german = words.split()
        known |= {english: 10 * ten, german: 10 * ten}
        for one in range(1, 10):
            small_en, small_de = _SMALL[one].split()
            in_german = f"{small_de.removesuffix('s') if one == 1 else small_de}und{german}"
            known |= {f"{english}{mark}{small_en}": 10 * ten + one for mark in "- "} | {in_german: 10 * ten + one}
    return known
