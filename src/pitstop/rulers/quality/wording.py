"""The two languages of the tasks: how to ask for an answer, and which names there are."""

from __future__ import annotations

from pitstop.rulers.quality.task import Draw, Language

NAMES = (
    "Ada",
    "Ben",
    "Clara",
    "David",
    "Emma",
    "Felix",
    "Greta",
    "Hugo",
    "Ida",
    "Jonas",
    "Klara",
    "Leo",
    "Mira",
    "Nico",
)
_ENDING = {
    "en": "Work it out, and end with one line of the form `Answer: …` that holds {what} and nothing else.",
    "de": "Rechne es aus und schließe mit einer einzigen Zeile der Form `Antwort: …`, die nichts enthält als {what}.",
}


def asked(language: Language, *, en: str, de: str, what_en: str = "the number", what_de: str = "die Zahl") -> str:
    """The question in its language, and how to end the answer."""
    text, what = (en, what_en) if language == "en" else (de, what_de)
    return f"{text}\n\n{_ENDING[language].format(what=what)}"


def names(draw: Draw, count: int) -> list[str]:
    """Different first names that both languages have, in a drawn order."""
    return draw.sample(NAMES, count)


def listed(words: list[str], language: Language) -> str:
    """`a, b and c`."""
    last = " and " if language == "en" else " und "
    return last.join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
