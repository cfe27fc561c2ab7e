"""Finds what a reply puts forward as its answer, and takes the markup off it."""

from __future__ import annotations

import re

_THOUGHT_BEGIN, _THOUGHT_END = "<think>", "</think>"
_LOOKED_AT_CHARS = 20_000  # from the end: that is where an answer stands
_STATED_CHARS = 1_000  # what is longer states no answer
_MARK = re.compile(
    r"(?:\b(?:final\s+answer|answer|antwort|endergebnis|ergebnis|result|lösung|solution|endantwort)\b"
    r"[ \t*_]*(?:\([^)\n]{0,30}\)[ \t]*)?(?::|=|\bis\b|\bist\b|\blautet\b|\bbeträgt\b)[ \t*_]*:?)",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_COPULA = re.compile(
    r"\b(?:is|are|equals|was|makes|ist|sind|beträgt|betragen|ergibt|lautet|macht|gibt|kostet|costs|pays?|zahlt)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ\\$*])")
_NEGATION = re.compile(
    r"\b(?:not|never|isn['’]?t|aren['’]?t|doesn['’]?t|cannot|can['’]?t|nicht|nie|kein\w*|wrong|incorrect|falsch)\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(r"\b(?:or|oder|maybe|perhaps|vielleicht|either|entweder|rather|bzw)\b", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]*\)")
_VULGAR = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5",
    "⅙": "1/6", "⅚": "5/6", "⅐": "1/7", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8", "⅑": "1/9", "⅒": "1/10",
}  # fmt: skip


def said(answer: str) -> str:
    """The answer without a thought that no parser split off; one that was never closed swallows the rest."""
    return answer.rpartition(_THOUGHT_END)[2].partition(_THOUGHT_BEGIN)[0].strip()


def put_forward(answer: str) -> str:
    """The part of a reply that states its answer: the last box or `Answer:` line, else the end of the last sentence.

    Markup is taken off. Empty when nothing is stated, or when it is stated to be wrong ("not 12").
    """
    text = said(answer)[-_LOOKED_AT_CHARS:]
    marked = _marked(text)
    part = marked if marked is not None else _last_statement(text)
    if len(part) > _STATED_CHARS:
        return ""
    plain = plain_text(part)
    return "" if _NEGATION.search(plain) else without_aside(plain)


def without_aside(plain: str) -> str:
    """Without a remark in brackets, as in `12 (3 boxes of 4)`; one that hedges, as in `12 (or 13)`, is kept."""
    bare = _ASIDE.sub(" ", plain)
    asides = " ".join(_ASIDE.findall(plain))
    return plain if _HEDGE.search(asides) or not re.search(r"\w", bare) else bare.strip()


def plain_text(text: str) -> str:
    """Text without LaTeX and Markdown: fractions as a/b, thin blanks, signs that keyboards have."""
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    for sign, fraction in _VULGAR.items():
        text = text.replace(sign, f" {fraction}")
    return text.strip()


def _marked(text: str) -> str | None:
    boxes = [(match.start(), match.end()) for match in _BOXED.finditer(text)]
    marks = [(match.start(), match.end()) for match in _MARK.finditer(text)]
    line = next((found for _, end in reversed(marks) if (found := _rest_of_line(text, end)) is not None), None)
    last_mark = marks[-1][0] if line is not None and marks else -1
    if boxes and boxes[-1][0] > last_mark:
        at, opened = boxes[-1]
        inside, end = _braced(text, opened)
        line_start = text.rfind("\n", 0, at) + 1
        if last_mark < line_start or line is None:
            rest = text[end:].partition("\n")[0]
            return f"{inside} {_unit_only(rest)}"
    return line


def _rest_of_line(text: str, at: int) -> str | None:
    """What follows a mark on its line, or on the next one that is not empty; None when nothing follows."""
    for line in text[at:].split("\n"):
        if re.search(r"\w", line):
            return _first_sentence(line)
    return None


def _first_sentence(line: str) -> str:
    return _SENTENCE.split(line.strip(), maxsplit=1)[0]


def _unit_only(rest: str) -> str:
    match = re.match(r"[\s$)\]]*((?:\\text\{[^{}]*\}|\\%|%|€|[a-zA-Z/]{1,12})?)", rest)
    return match[1] if match else ""


def _braced(text: str, at: int) -> tuple[str, int]:
    """What stands up to the brace that closes the one before `at`, and where it ends."""
    depth = 1
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return text[at:index], index + 1
    return text[at:], len(text)


def _last_statement(text: str) -> str:
    """The last sentence, from its last verb of being on: `The sum of 7 and 5 is 12.` states 12."""
    lines = [line for line in text.split("\n") if re.search(r"\w", line)]
    if not lines:
        return ""
    sentence = [part for part in _SENTENCE.split(lines[-1].strip()) if re.search(r"\w", part)][-1]
    if _NEGATION.search(sentence):
        return sentence
    copulas = list(_COPULA.finditer(sentence))
    rest = sentence[copulas[-1].end() :] if copulas else sentence
    return rest if re.search(r"\w", rest) else sentence


_PLAIN: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\^\{(-?\d+)\}", r"^\1"),
        (r"\\[dtc]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r" \1/\2 "),
        (r"\\[dtc]?frac\s*(\d)\s*(\d)", r" \1/\2 "),
        (r"\{,\}", ","),
        (r"\\(?:[,;:! ]|quad|qquad)|~", "\u2009"),
        (r"\\(?:text|textbf|mathrm|mathbf|mathit|operatorname|boxed|fbox)\s*\{([^{}]*)\}", r" \1 "),
        (r"\\%", "%"),
        (r"\\(?:times|cdot)\b", "×"),
        (r"\\(?:approx|simeq)\b", "≈"),
        (r"\\(?:left|right|displaystyle)\b|\\[()\[\]]|\$", " "),
        (r"\\euro\b|\\texteuro\b", "€"),
        (r"[−–‒]", "-"),
        ("⁄", "/"),  # the fraction slash
        (r"\*\*|__|`", ""),
        (r"(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", ""),
    )
)
