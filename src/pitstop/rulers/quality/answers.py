"""Finds what a reply puts forward as its answer, and takes the markup off it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pitstop.rulers.quality.plain import plain_text
from pitstop.rulers.unsplit_thought import without_thought

_LOOKED_AT_CHARS = 20_000  # from the end: that is where an answer stands
_STATED_CHARS = 1_000  # what is longer states no answer
_LOOKED_BACK = 3  # sentences of good wishes after an answer that no mark precedes
_MARK = re.compile(
    r"(?:\b(?:final\s+answer|answer|antwort|endergebnis|ergebnis|result|lösung|solution|endantwort)\b"
    r"[ \t*_]*(?:\([^)\n]{0,30}\)[ \t]*)?(?::|=|[-–—](?=[ \t])|\bis\b|\bist\b|\blautet\b|\bbeträgt\b)[ \t*_]*:?)",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_COPULA = re.compile(
    r"\b(?:is|are|be|equals|was|makes|ist|sind|beträgt|betragen|ergibt|lautet|macht|gibt|kostet|costs|pays?|zahlt)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ\\$*])")
_LISTED = re.compile(r"[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]+(?=\S)")
_NUMBERED = re.compile(r"\W*1[.)]\s+\S.*\s2[.)]\s")
_ONE_WORD = re.compile(r"\W*\w+\W*$")
_NEGATION = re.compile(
    r"\b(?:not|never|\w+n['’]t|cannot|nicht|nie|kein\w*|wrong|incorrect|falsch|doubt|unlike|except|neither|nor|weder"
    r"|außer)\b|\b(?:all|any\w*|every\w*|alle\w*)\b[^.]{0,40}\bbut\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"[,(;]\s*(?:and\s+|und\s+)?(?:not|nicht|instead of|rather than|statt)\b[^,()]*\)?\s*$", re.IGNORECASE
)
_HEDGE = re.compile(r"\b(?:or|oder|maybe|perhaps|vielleicht|either|entweder|rather|bzw)\b", re.IGNORECASE)
_BACKWARDS = re.compile(r"\bright to left\b|\brechts nach links\b", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]*\)")
# Said after an answer, these take it back; `_TURNS` only where another one follows.
_TAKEN_BACK = re.compile(
    r"\bscratch that\b|\b(?:that|this|it)(?:['’]s| is| was) (?:wrong|incorrect|not right|not correct|a mistake)\b"
    r"|\b(?:I|we)(?:['’]ve| have)? (?:made|make) an? (?:\w+ )?(?:mistake|error)\b"
    r"|\bdas (?:ist|war) (?:falsch|ein Fehler|nicht richtig)\b|\bdas stimmt (?:so )?nicht\b"
    r"|\bich habe (?:mich|einen? \w*fehler)\b[^.\n]{0,40}\b(?:verrechnet|vertan|geirrt|gemacht)\b",
    re.IGNORECASE,
)
_TURNS = re.compile(
    r"\bno,? wait\b|\bwait\b[,.:…-]*\s*(?:no|actually|that|it)\b|\bhmm+,? no\b|\bactually\s*[,:]"
    r"|\bactually,? (?:no|it)\b|\bcorrection\s*[:,]|\boops\b|\?\s+(?:no|nein)\b|\bnein,? (?:warte|moment|halt)\b"
    r"|\b(?:warte|moment|halt)[,.:]? nein\b|\bkorrektur\s*[:,]|\bgenauer gesagt\b",
    re.IGNORECASE,
)
_MOST_TURNS, _MOST_MARKS = 5, 50

Holds = Callable[[str], bool]  # whether a part of a reply states something that could be the answer


def put_forward(answer: str, holds: Holds = bool) -> str:
    """The part of a reply that states its answer: the last box or `Answer:` line, else the end of the last sentence.

    What comes behind the last correction ("no wait, …") counts alone. Markup is taken off. Empty when nothing is
    stated, or when it is stated to be wrong ("not 12").
    """
    text = _corrected(without_thought(answer)[-_LOOKED_AT_CHARS:], holds)
    marked = _marked(text, holds)
    part = marked if marked is not None else _last_statement(text, holds)
    if len(part) > _STATED_CHARS:
        return ""
    plain = without_contrast(plain_text(part))
    if _NEGATION.search(plain):
        return ""
    bare = without_aside(plain)
    return plain if plain.startswith("(") and not holds(bare) else bare  # `(B) Paris`


def without_contrast(plain: str) -> str:
    """Without what the answer is told not to be, as in `12, not 13`."""
    bare = _CONTRAST.sub("", plain.rstrip(" .!"))
    return bare if re.search(r"\w", bare) and len(bare) < len(plain.rstrip(" .!")) else plain


def without_aside(plain: str) -> str:
    """Without a remark in brackets, as in `12 (3 boxes of 4)`; one that hedges, as in `12 (or 13)`, is kept."""
    bare = _ASIDE.sub(" ", plain)
    asides = " ".join(_ASIDE.findall(plain))
    return plain if _HEDGE.search(asides) or _BACKWARDS.search(asides) or not re.search(r"\w", bare) else bare.strip()


def hedges(plain: str) -> bool:
    """Whether more than one answer is left open."""
    return bool(_HEDGE.search(plain))


@dataclass(frozen=True)
class _Mark:
    """`asked`: a line of its own that begins with it, as the tasks ask for."""

    at: int
    part: str
    asked: bool


def _corrected(text: str, holds: Holds) -> str:
    taken_back = [match.end() for match in _TAKEN_BACK.finditer(text)]
    text = text[taken_back[-1] :] if taken_back else text
    turns = [match.end() for match in _TURNS.finditer(text)]
    return next((text[at:] for at in turns[: -_MOST_TURNS - 1 : -1] if _states(text[at:], holds)), text)


def _states(text: str, holds: Holds) -> bool:
    return bool(re.search(r"\w", text)) and holds(plain_text(text))


def _marked(text: str, holds: Holds) -> str | None:
    """What the last mark or box introduces; within a sentence a mark counts only before something like an answer."""
    mark = next(_marks(text, holds), None)
    boxes = [(match.start(), match.end()) for match in _BOXED.finditer(text)]
    if boxes and (mark is None or boxes[-1][0] > mark.at):
        at, opened = boxes[-1]
        inside, end = _braced(text, opened)
        line_start = text.rfind("\n", 0, at) + 1
        if mark is None or mark.at < line_start:
            first = next(start for start, _ in boxes if start >= line_start)
            rest = text[end:].partition("\n")[0]
            return f"{inside} {_unit_only(rest)}" if first == at else text[first:end]
    return mark.part if mark else None


def _marks(text: str, holds: Holds) -> Iterator[_Mark]:
    """The marks that introduce something, the last one first."""
    for match in list(_MARK.finditer(text))[: -_MOST_MARKS - 1 : -1]:
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        asked = ":" in match[0] and not re.search(r"\w", before)
        part = _introduced(text[match.end() :])
        if part is not None and (asked or holds(plain_text(part[:_STATED_CHARS]))):
            yield _Mark(match.start(), part, asked)


def _introduced(rest: str) -> str | None:
    """What follows a mark on its line, or below it up to an empty line; None when nothing follows."""
    line, _, below = rest.partition("\n")
    if re.search(r"\w", line):
        return _first_sentence(line)
    lines = iter(below.split("\n"))
    first = next((line.lstrip("> ") for line in lines if re.search(r"\w", line)), None)
    if first is None:
        return None
    for kind in (_LISTED, _ONE_WORD):
        if kind.match(first):
            items = [first]
            for line in lines:
                if not kind.match(line):
                    break
                items.append(line)
            return ", ".join(_LISTED.sub("", item).strip() for item in items)
    return _first_sentence(first)


def _first_sentence(line: str) -> str:
    if _NUMBERED.match(line):
        return re.sub(r"(?:^|\s)\d{1,2}[.)]\s+", ", ", line.strip()).lstrip(", ")
    return _SENTENCE.split(line.strip(), maxsplit=1)[0]


def _unit_only(rest: str) -> str:
    match = re.match(
        r"(?:[\s$)\]~]|\\[,;:! ]|\\q?quad)*((?:\\(?:text|mathrm)\s*\{[^{}]*\}|\\%|%|€|[a-zA-Z/]{1,12})?)", rest
    )
    return match[1] if match else ""


def _braced(text: str, at: int) -> tuple[str, int]:
    """What stands up to the brace that closes the one before `at`, and where it ends."""
    depth = 1
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return text[at:index], index + 1
    return text[at:], len(text)


def _last_statement(text: str, holds: Holds) -> str:
    """The last sentence, from its last verb of being on: `The sum of 7 and 5 is 12.` states 12.

    Behind it there may be a few more that say nothing of the kind, as `I hope this helps.`
    """
    lines = [line for line in text.split("\n") if re.search(r"\w", line)]
    sentences = [
        part for line in lines[-_LOOKED_BACK:] for part in _SENTENCE.split(line.strip()) if re.search(r"\w", part)
    ]
    for sentence in sentences[: -_LOOKED_BACK - 1 : -1]:
        stated = _from_the_verb(sentence, holds)
        if stated or _NEGATION.search(sentence):
            return stated
    return ""


def _from_the_verb(sentence: str, holds: Holds) -> str:
    if not holds(plain_text(sentence[:_STATED_CHARS])):
        return ""
    copulas = list(_COPULA.finditer(sentence))
    rest = sentence[copulas[-1].end() :] if copulas else ""
    negated = _NEGATION.search(without_contrast(sentence))
    return sentence if negated or not re.search(r"\w", rest) or not holds(plain_text(rest)) else rest
