"""Four logic tasks. Puzzles are drawn until exactly one solution is left, found by trying all of them."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

from pitstop.rulers.quality.keys import NumberKey, WordKey
from pitstop.rulers.quality.task import Draw, Kind, Language, Level, Question, Task
from pitstop.rulers.quality.wording import asked, listed, names

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_GERMAN = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
_SPELLINGS = {day: (german,) for day, german in zip(WEEKDAYS, _GERMAN, strict=True)} | {
    "Saturday": ("Samstag", "Sonnabend")
}

BACKWARDS = r"\bright to left\b|\brechts nach links\b"
HONEST = r"^(?!.*\b(?:lie|lies|liars?|lying|lüg\w*|rest|others?|anderen)\b).*\b(?:truth\w*|honest|wahrheit|ehrlich)\b"


def sequence(draw: Draw, language: Language) -> Question:
    """The next number of an even sequence."""
    start, step = draw.randint(1, 9), draw.choice([2, 3, 5, 10])
    told = ", ".join(str(start + step * i) for i in range(5))
    question = asked(
        language, en=f"Which number comes next: {told}, …?", de=f"Welche Zahl kommt als nächste: {told}, …?"
    )
    return Question(question, NumberKey(Fraction(start + 5 * step)))


def weekday(draw: Draw, language: Language) -> Question:
    """A weekday some hundreds of days from a drawn one."""
    today, days = draw.randrange(7), draw.randint(100, 900)
    day = WEEKDAYS[(today + days) % 7]
    assert WEEKDAYS[(dt.date(2024, 1, 1 + today) + dt.timedelta(days)).weekday()] == day
    question = asked(
        language,
        en=f"Today is a {WEEKDAYS[today]}. Which day of the week is it {days} days from now?",
        de=f"Heute ist {_GERMAN[today]}. Welcher Wochentag ist in {days} Tagen?",
        what_en="the day of the week", what_de="den Wochentag",
    )  # fmt: skip
    return Question(question, WordKey((day,), _SPELLINGS))


Order = tuple[str, ...]
_Clue = tuple[Callable[[Order], bool], str, str]  # whether an order fits it, and its two wordings


def seating(draw: Draw, language: Language) -> Question:
    """Five people in a row, and as many clues as leave one order."""
    people = names(draw, 5)
    truth = tuple(draw.sample(people, 5))
    clues = draw.sample(_clues(truth), len(_clues(truth)))
    chosen: list[_Clue] = []
    left = list(itertools.permutations(people))
    for clue in clues:
        fewer = [order for order in left if clue[0](order)]
        if len(fewer) < len(left):
            chosen.append(clue)
            left = fewer
    told = "\n".join(f"- {clue[1] if language == 'en' else clue[2]}" for clue in chosen)
    people_told = listed(sorted(people), language)
    question = asked(
        language,
        en=f"{people_told} stand in a row, seen from left to right.\n{told}\nIn which order do they stand?",
        de=f"{people_told} stehen in einer Reihe, gesehen von links nach rechts.\n{told}\n"
        "In welcher Reihenfolge stehen sie?",
        what_en="the five names from left to right, with commas between",
        what_de="die fünf Namen von links nach rechts, mit Kommas dazwischen",
    )  # fmt: skip
    assert left == [truth]
    return Question(question, WordKey(truth, dict.fromkeys(people, ()), against=BACKWARDS))


def knaves(draw: Draw, language: Language) -> Question:
    """Six people who always lie or never, each saying something about two others; the liars are asked for."""
    people = names(draw, 6)
    while True:
        said = [(draw.sample([i for i in range(6) if i != speaker], 2), draw.choice(["same", "differ", "count"]))
                for speaker in range(6)]  # fmt: skip
        claims = [(about, kind, draw.randint(0, 1)) for about, kind in said]
        solutions = [world for world in itertools.product((True, False), repeat=6) if _holds(world, claims)]
        if len(solutions) == 1 and 2 <= solutions[0].count(False) <= 4:
            break
    told = "\n".join(_claim(people, speaker, claim, language) for speaker, claim in enumerate(claims))
    liars = tuple(name for name, honest in zip(people, solutions[0], strict=True) if not honest)
    question = asked(
        language,
        en=f"Each of {listed(people, language)} either always tells the truth or always lies.\n{told}\nWho lies?",
        de=f"{listed(people, language)}: Jede dieser Personen sagt entweder immer die Wahrheit oder lügt immer.\n"
        f"{told}\n"
        "Wer lügt?",
        what_en="the names of all liars, with commas between", what_de="die Namen aller Lügner mit Kommas dazwischen",
    )  # fmt: skip
    return Question(question, WordKey(liars, dict.fromkeys(people, ()), ordered=False, against=HONEST))


_Claim = tuple[list[int], str, int]


def _holds(world: Sequence[bool], claims: Sequence[_Claim]) -> bool:
    return all(world[speaker] == _true(world, claim) for speaker, claim in enumerate(claims))


def _true(world: Sequence[bool], claim: _Claim) -> bool:
    (a, b), kind, flag = claim
    if kind == "same":
        return world[a] == world[b]
    if kind == "differ":
        return world[a] != world[b]
    return (world[a] or world[b]) if flag else not (world[a] and world[b])


def _claim(people: Sequence[str], speaker: int, claim: _Claim, language: Language) -> str:
    (a, b), kind, flag = claim
    one, other = people[a], people[b]
    words = {
        "same": (f"{one} and {other} are of the same kind", f"{one} und {other} sind von derselben Art"),
        "differ": (f"{one} and {other} are of different kinds", f"{one} und {other} sind von verschiedener Art"),
        "count": (
            (f"at least one of {one} and {other} tells the truth",
             f"mindestens eine Person von {one} und {other} sagt die Wahrheit")
            if flag
            else (f"at least one of {one} and {other} lies", f"mindestens eine Person von {one} und {other} lügt")
        ),
    }[kind]  # fmt: skip
    return f"{people[speaker]} {'says' if language == 'en' else 'sagt'}: {words[0 if language == 'en' else 1]}."


def _clues(truth: Order) -> list[_Clue]:
    """Everything of a few kinds that is true of this order."""
    found: list[_Clue] = []
    for i, j in itertools.permutations(range(5), 2):
        one, other = truth[i], truth[j]
        if i < j:
            found.append((_before(one, other), f"{one} stands somewhere to the left of {other}.",
                          f"{one} steht irgendwo links von {other}."))  # fmt: skip
        if abs(i - j) > 1:
            found.append((_apart(one, other), f"{one} and {other} do not stand next to each other.",
                          f"{one} und {other} stehen nicht nebeneinander."))  # fmt: skip
        if j - i == 2:
            found.append((_gap(one, other), f"Exactly one person stands between {one} and {other}.",
                          f"Zwischen {one} und {other} steht genau eine Person."))  # fmt: skip
    return found


def _before(one: str, other: str) -> Callable[[Order], bool]:
    return lambda order: order.index(one) < order.index(other)


def _apart(one: str, other: str) -> Callable[[Order], bool]:
    return lambda order: abs(order.index(one) - order.index(other)) > 1


def _gap(one: str, other: str) -> Callable[[Order], bool]:
    return lambda order: abs(order.index(one) - order.index(other)) == 2


LOGIC = (
    Task(Kind.MATH, "sequence", Level.EASY, sequence),
    Task(Kind.MATH, "weekday", Level.MEDIUM, weekday),
    Task(Kind.MATH, "seating", Level.MEDIUM, seating),
    Task(Kind.MATH, "knaves", Level.HARD, knaves),
)
