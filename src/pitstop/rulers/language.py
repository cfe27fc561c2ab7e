"""The language of an answer, and when it cannot be told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from pitstop.rulers.unsplit_thought import without_thought

# What users write in; with all 97 of py3langid's languages a short technical answer drifts to Latin or Luxembourgish.
LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "tr", "zh", "ja", "ko", "ar")
SHORT_LETTERS = 60  # about ten words; below that single words decide
SURE = 0.9
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)


@dataclass(frozen=True)
class Language:
    """`code` is None when `uncertain` says why: short, mixed, or too close."""

    code: str | None
    uncertain: str = ""


def language_of(answer: str) -> Language:
    """The language of the prose in `answer`; code and addresses are left out, for they are English everywhere."""
    prose = _CODE.sub(" ", without_thought(answer)).strip()
    letters = sum(char.isalpha() for char in prose)
    if letters < SHORT_LETTERS:
        return Language(None, f"short: {letters} letters of prose")
    whole, probability = _classify(prose)
    if probability < SURE:
        return Language(None, f"close: {whole} with {probability:.0%}")
    others = {_classify(part)[0] for part in _halves(prose)} - {whole}
    if others:
        return Language(None, f"mixed: {', '.join(sorted({whole, *others}))}")
    return Language(whole)


def _halves(prose: str) -> list[str]:
    """Both halves, cut at a word, where each is long enough to be judged alone."""
    middle = prose.find(" ", len(prose) // 2)
    parts = [prose[:middle], prose[middle:]] if middle > 0 else []
    return [part for part in parts if sum(char.isalpha() for char in part) >= SHORT_LETTERS]


def _classify(text: str) -> tuple[str, float]:
    code, probability = _identifier().classify(text)
    return str(code), float(probability)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 - loads a model

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(LANGUAGES))
    return identifier
