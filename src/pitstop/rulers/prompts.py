"""The twenty short prompts: ten German, ten English, half of each about code and half prose."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

Kind = Literal["prose", "code"]
Language = Literal["de", "en"]


class Prompt(msgspec.Struct, frozen=True):
    """One short prompt. `topic` is one of code, SQL, fault finding, explanation, as in the second report."""

    id: str
    language: Language
    kind: Kind
    topic: str
    text: str


@cache
def all_prompts() -> tuple[Prompt, ...]:
    """All twenty, in the order of the file: the first German one is the first prompt of the `spark` preset."""
    return msgspec.json.decode(_raw(), type=tuple[Prompt, ...])


def select(*, language: Language | None = None, kind: Kind | None = None) -> tuple[Prompt, ...]:
    """Those of one language, one kind, or both, in order."""
    return tuple(p for p in all_prompts() if language in (None, p.language) and kind in (None, p.kind))


@cache
def prompts_hash() -> str:
    """Sixteen hex digits over the prompts as they are sent: runs with other prompts are not comparable."""
    return hashlib.sha256(_raw()).hexdigest()[:16]


@cache
def _raw() -> bytes:
    return (resources.files("pitstop.rulers") / "data" / "prompts.json").read_bytes()
