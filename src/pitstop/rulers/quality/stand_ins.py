"""Options that are not read as themselves: `incorrect` negates, `__init__` is bold, `O(n)` a letter with an aside.

Where a key has such an option, all of its options are replaced in the reply by words that mean nothing else, before the
reply is read, and put back into what was taken for the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from pitstop.rulers.quality.answers import put_forward
from pitstop.rulers.quality.keys import WordKey
from pitstop.rulers.quality.options import named
from pitstop.rulers.quality.plain import plain_text


@dataclass(frozen=True)
class StandIns:
    """`key` knows the words that stand in; `words` tells of each which option it is."""

    key: WordKey
    words: dict[str, str]

    def applied(self, reply: str) -> str:
        """The reply with a stand-in for every option that it names."""
        if not self.words:
            return reply
        stand_in = {option: word for word, option in self.words.items()}
        means = {_joined(form): stand_in[option] for option in stand_in for form in _forms(self.key, option)}
        longest_first = sorted(means, key=len, reverse=True)
        pattern = "|".join(rf"(?<!\w){_spaced(form)}(?!\w)" for form in longest_first)
        return re.sub(pattern, lambda match: means.get(_joined(match[0]), match[0]), reply, flags=re.IGNORECASE)

    def undone(self, text: str) -> str:
        """A text with the options again."""
        for word, option in self.words.items():
            text = text.replace(word, option)
        return text


def stand_ins(key: WordKey) -> StandIns:
    """For a key all of whose options are read as themselves: the same key, and no words."""
    told = tuple((option, tuple(forms)) for option, forms in key.spellings.items())
    if not _misread(told):
        return StandIns(key, {})
    words = {f"Qz{_letters(place)}q": option for place, option in enumerate(key.spellings)}
    stand_in = {option: word for word, option in words.items()}
    spellings = {option: (*forms, stand_in[option]) for option, forms in key.spellings.items()}
    return StandIns(replace(key, spellings=spellings), words)


@lru_cache(maxsize=256)
def _misread(told: tuple[tuple[str, tuple[str, ...]], ...]) -> bool:
    """Whether an answer of just one of the spellings would not be read as that option."""
    key = WordKey((), dict(told))
    return any(
        named(key, put_forward(f"Answer: {spelling}", lambda part: bool(named(key, part)))) != [option]
        for option, forms in told
        for spelling in (option, *forms)
    )


def _forms(key: WordKey, option: str) -> list[str]:
    """As they are spelled, and as that looks without markup."""
    spellings = (option, *key.spellings[option])
    return [form for spelling in spellings for form in (spelling, plain_text(spelling)) if re.search(r"\S", form)]


def _joined(form: str) -> str:
    return " ".join(form.casefold().split())


def _spaced(form: str) -> str:
    return r"\s+".join(map(re.escape, form.split()))


def _letters(place: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(place))
