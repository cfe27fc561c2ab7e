"""What makes an answer right: values only, so that a key can be shown, hashed and tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class NumberKey:
    """One number. `unit` is what it is counted in: an answer may name it, leave it out, or convert it."""

    value: Fraction
    unit: str = ""

    @property
    def words(self) -> str:
        """The value as a person writes it, with its unit."""
        text = _decimal(self.value) if terminates(self.value) else str(self.value)
        return f"{text} {self.unit}".strip()


@dataclass(frozen=True)
class WordKey:
    """Words out of a known set, each with its spellings; in this order, or in any."""

    right: tuple[str, ...]
    spellings: Mapping[str, tuple[str, ...]]  # every option, the wrong ones too
    ordered: bool = True
    against: str = field(default="", repr=False)  # a pattern: what turns an answer that names the right ones round

    @property
    def words(self) -> str:
        return ", ".join(self.right)


@dataclass(frozen=True)
class Expected:
    """What one call of tested code should give: a value, or an error of that name."""

    value: Any = None
    error: str = ""


@dataclass(frozen=True)
class CodeKey:
    """A function to write, the hidden arguments that it is called with, and what each call should give."""

    function: str
    calls: tuple[tuple[Any, ...], ...]
    expected: tuple[Expected, ...]

    @property
    def words(self) -> str:
        return f"{self.function}: {len(self.calls)} hidden tests"


@dataclass(frozen=True)
class Call:
    """One call of a tool. `optional` arguments may be left out, or given with just these values."""

    name: str
    arguments: Mapping[str, Any]
    optional: Mapping[str, Any] = field(default_factory=dict)
    result: str = '{"ok": true}'  # what the tool answers


@dataclass(frozen=True)
class ToolKey:
    """The calls that should be made, in this order, and a number or word that the last answer should hold."""

    calls: tuple[Call, ...]
    tools: tuple[dict[str, Any], ...]  # as they are offered, in OpenAI's form
    then: NumberKey | WordKey | None = None

    @property
    def words(self) -> str:
        names = ", then ".join(call.name for call in self.calls) or "no call"
        return f"{names}, then {self.then.words}" if self.then else names


Key = NumberKey | WordKey | CodeKey | ToolKey


def terminates(value: Fraction) -> bool:
    """Whether a fraction has a decimal form that ends."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimal(value: Fraction) -> str:
    """All digits of a fraction whose decimal form ends: to be shown, it must not be rounded."""
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    digits = str(abs(value.numerator)).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{'-' if value < 0 else ''}{whole}{f'.{part}' if part else ''}"
