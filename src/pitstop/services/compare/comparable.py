"""Whether two runs measured the same thing, and if not, by what name they differ."""

from __future__ import annotations

from collections.abc import Iterator

from pitstop.core.documents import Figure
from pitstop.services.compare.measured import Key, Measured

# Prefill sizes are calibrated to 2 % by the server's own count; the same prompt under another tokenizer or chat
# template differs by far more than that.
_LENGTH_TOLERANCE = 0.02
# Of a figure's detail; `request` says how a server made us ask otherwise than defined.
_MARKS = ("set", "prompts", "prompts_hash", "text_hash", "definition", "estimator", "request")


def differences(first: Measured, second: Measured) -> list[str]:
    """Sentences without a full stop, one per difference that makes the numbers mean two things."""
    if first.tool != second.tool:
        return [f"other definitions: one was measured by {first.tool}, the other by {second.tool}"]
    return list(dict.fromkeys([*_facts(first, second), *_lengths(first, second), *_details(first, second)]))


def shared(first: Measured, second: Measured) -> list[Key]:
    return [key for key in first.figures if key in second.figures]


def _facts(first: Measured, second: Measured) -> Iterator[str]:
    for name in sorted({*first.facts, *second.facts}):
        one, other = first.facts.get(name, "not told"), second.facts.get(name, "not told")
        if one != other:
            yield f"other {name}: {_short(one)} against {_short(other)}"


def _lengths(first: Measured, second: Measured) -> Iterator[str]:
    for (ruler, case), one in first.lengths.items():
        other = second.lengths.get((ruler, case))
        if other is not None and abs(one - other) > _LENGTH_TOLERANCE * max(one, other):
            yield (
                f"other lengths: {ruler} {case} has {one:g} tokens in one and {other:g} in the other; "
                "the prompts, the tokenizer or the chat template differ"
            )


def _details(first: Measured, second: Measured) -> Iterator[str]:
    for key in shared(first, second):
        one, other = first.figures[key], second.figures[key]
        for mark in _MARKS:
            if _marked(one, mark) != _marked(other, mark):
                yield f"other {mark.replace('_', ' ')} of {key[0]}: {_marked(one, mark)} against {_marked(other, mark)}"


def _marked(figure: Figure, mark: str) -> str:
    return _short(str(figure.detail.get(mark, "not told")))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"
