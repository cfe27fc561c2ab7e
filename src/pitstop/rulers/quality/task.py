"""A task is a generator: a seed gives the instance. No instance is written down anywhere."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pitstop.rulers.quality.keys import Key

Language = Literal["en", "de"]
Draw = random.Random  # seeded by the run: both arms of a trial draw the same


class Level(StrEnum):
    """Easy: one step, for a model of 135M. Medium: a few. Hard: many steps, each of which has to be right."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Kind(StrEnum):
    MATH = "math"
    CODE = "code"
    TOOLS = "tools"


@dataclass(frozen=True)
class Question:
    """What a generator draws: the text to send, and the key to judge by."""

    prompt: str
    key: Key


@dataclass(frozen=True)
class Instance:
    """One question of one task. `name` is its case: kind/language/name."""

    name: str
    kind: Kind
    level: Level
    language: Language
    prompt: str
    key: Key


@dataclass(frozen=True)
class Task:
    """`draw` takes randomness and a language, and nothing else: the same two give the same question."""

    kind: Kind
    name: str
    level: Level
    draw: Callable[[Draw, Language], Question]

    def generate(self, seed: int, language: Language) -> Instance:
        """The instance of this seed. Deterministic: the text seed goes through SHA-512, whatever the process."""
        question = self.draw(random.Random(f"{self.kind}/{self.name}/{seed}"), language)  # noqa: S311 - no secret
        name = f"{self.kind}/{language}/{self.name}"
        return Instance(name, self.kind, self.level, language, question.prompt, question.key)


def digest(*texts: str) -> str:
    """Sixteen hex digits over some texts."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
