"""Which of the known options a text names, whatever their spelling."""

from __future__ import annotations

import re

from pitstop.rulers.quality.keys import WordKey

_REFERRED_TO = re.compile(
    r"\b(?:after|from|before|since|than|today is|nach|vor|ab|seit|heute ist)\s+"
    r"(?:(?:an?|the|einem|ein|dem)\s+)?\Z",
    re.IGNORECASE,
)


def named(key: WordKey, stated: str) -> list[str]:
    """The options that a text puts forward, in order; said twice at once is said once."""
    spellings = spelled(key)
    text = stated.casefold()
    found = [
        spellings[match[0]]
        for match in option_pattern(key).finditer(text)
        if not _REFERRED_TO.search(text, 0, match.start())
    ]
    return [option for number, option in enumerate(found) if number == 0 or option != found[number - 1]]


def option_pattern(key: WordKey) -> re.Pattern[str]:
    """Every spelling as a whole word, in text that was case-folded."""
    longest_first = sorted(spelled(key), key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(spelling)}(?!\w)" for spelling in longest_first))


def spelled(key: WordKey) -> dict[str, str]:
    """Each spelling, case-folded, and the option that it means."""
    return {spelling.casefold(): option for option, forms in key.spellings.items() for spelling in (option, *forms)}
