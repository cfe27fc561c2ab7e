"""The natural text of the long prompts: shipped with the project, or the user's own file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path

from pitstop.core.errors import UsageError
from pitstop.rulers.pieces import ends

SHIPPED = "persuasion.txt"  # Jane Austen, 1818; public domain; see data/README.md
MIN_CHARS = 1000
_SHINGLE_WORDS = 12
REPETITION_LIMIT = 0.05  # the shipped novel has none; a sentence said over and over comes to nearly one


@dataclass(frozen=True)
class NaturalText:
    """A text to cut prompts from. `sha256` goes into the run document: other text, other run."""

    name: str
    text: str
    sha256: str
    repetition: float  # share of its twelve-word runs that occurred before

    def head(self, pieces: int) -> str:
        """The first `pieces` pieces. `pieces` beyond the end gives all of it."""
        if pieces >= len(self._ends):
            return self.text
        return self.text[: self._ends[pieces - 1]] if pieces > 0 else ""

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return tuple(ends(self.text))

    @property
    def repeats_itself(self) -> bool:
        """Speculation guesses repeated text almost free, so figures over such a text need a label."""
        return self.repetition > REPETITION_LIMIT


def load_text(path: Path | None = None) -> NaturalText:
    """The text at `path`, or the shipped one. UsageError when it cannot be read or is too short to measure with."""
    return _shipped() if path is None else _from(str(path), _read(path))


def repetition(text: str) -> float:
    """The share of the text's runs of twelve words that occurred earlier in it; 0 for a text of fewer words."""
    seen: set[int] = set()
    total = 0
    for shingle in _shingles(text.split()):
        total += 1
        seen.add(hash(shingle))
    return 1 - len(seen) / total if total else 0.0


def _shingles(words: list[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(words[i : i + _SHINGLE_WORDS]) for i in range(len(words) - _SHINGLE_WORDS + 1))


@cache
def _shipped() -> NaturalText:
    text = (resources.files("pitstop.rulers") / "data" / SHIPPED).read_text(encoding="utf-8")
    return _from(SHIPPED, text)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start})", hint="Give a plain text file.") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="Give a readable plain text file.") from error


def _from(name: str, text: str) -> NaturalText:
    text = text.replace("\0", "").strip()
    if len(text) < MIN_CHARS:
        raise UsageError(
            f"{name} has {len(text)} characters, too few to cut prompts from",
            hint=f"Give natural text of at least {MIN_CHARS} characters; 32,000 tokens need about 150,000.",
        )
    return NaturalText(name, text, hashlib.sha256(text.encode()).hexdigest(), repetition(text))
