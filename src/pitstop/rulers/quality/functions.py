"""How a coding task is put: a function to write, two examples, hidden calls whose results a reference computes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pitstop.rulers.quality.keys import CodeKey, Expected
from pitstop.rulers.quality.task import Language, Question

Arguments = tuple[Any, ...]
_SHOWN = 2
_FRAME = {
    "en": "Write a Python function `{signature}`. {text}\n\nExamples:\n{examples}\n\nUse the standard library alone. "
    "Reply with one Python code block that defines the function, and nothing that reads input or prints.",
    "de": "Schreibe eine Python-Funktion `{signature}`. {text}\n\nBeispiele:\n{examples}\n\nBenutze nur die "
    "Standardbibliothek. Antworte mit einem Python-Codeblock, der die Funktion definiert und nichts liest oder "
    "ausgibt.",
}


@dataclass(frozen=True)
class Wording:
    en: str
    de: str


def function_task(
    signature: str,
    wording: Wording,
    language: Language,
    reference: Callable[..., Any],
    calls: Sequence[Arguments],
) -> Question:
    """The first two calls are shown as examples; every call is a hidden test."""
    name = signature.partition("(")[0]
    expected = tuple(expected_of(reference, call) for call in calls)
    examples = "\n".join(
        f"    {name}({', '.join(map(repr, call))}) == {want.value!r}"
        for call, want in list(zip(calls, expected, strict=True))[:_SHOWN]
    )
    text = wording.en if language == "en" else wording.de
    prompt = _FRAME[language].format(signature=signature, text=text, examples=examples)
    return Question(prompt, CodeKey(name, tuple(calls), expected))


def expected_of(reference: Callable[..., Any], call: Arguments) -> Expected:
    """What the reference gives; a ValueError is a result too."""
    try:
        return Expected(reference(*copy.deepcopy(call)))
    except ValueError:
        return Expected(error="ValueError")
