"""Judges written code: extracts it, has it run in the sandbox, and compares what came out here, as plain JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pitstop.rulers.quality.code_blocks import code_for
from pitstop.rulers.quality.keys import CodeKey, Expected
from pitstop.rulers.quality.marking import Mark
from pitstop.rulers.quality.sandbox import Box, Ran


async def mark_code(key: CodeKey, answer: str, box: Box) -> Mark:
    """Right when every hidden test gives what the reference gave. SandboxFailed when none could be run."""
    code = code_for(answer, key.function)
    if not code:
        return Mark(False, "", f"the reply holds no Python code that defines {key.function}")
    return mark_results(key, code, await box.run(code, key.function, key.calls))


def mark_results(key: CodeKey, code: str, ran: Ran) -> Mark:
    """Compare. What came out was written by the tested code, and is believed in nothing but its values."""
    if ran.stopped:
        return Mark(False, code, ran.stopped)
    passed = [fits(got, want) for got, want in zip(ran.results, key.expected, strict=True)]
    if all(passed):
        return Mark(True, code)
    first = passed.index(False)
    call = f"{key.function}({', '.join(map(repr, key.calls[first]))})"
    told, wanted = _told(ran.results[first]), _wanted(key.expected[first])
    return Mark(False, code, f"{sum(passed)} of {len(passed)} tests; {_short(call)} gave {told} instead of {wanted}")


def fits(got: Mapping[str, Any], want: Expected) -> bool:
    """A value that is equal as JSON, or an error of that kind. Tuples and lists are one; True is not 1."""
    if want.error:
        kinds = got.get("error")
        return isinstance(kinds, list) and want.error in kinds and not got.get("unsendable")
    return "value" in got and "error" not in got and equal(got["value"], want.value)


def equal(told: Any, right: Any) -> bool:
    """Equal as JSON: numbers by value, and nothing that is only equal in Python."""
    if isinstance(right, list | tuple):
        return isinstance(told, list) and len(told) == len(right) and all(map(equal, told, right))
    if isinstance(right, Mapping):
        same_keys = isinstance(told, Mapping) and told.keys() == {str(name) for name in right}
        return same_keys and all(equal(told[str(name)], value) for name, value in right.items())
    if isinstance(right, bool) or right is None or isinstance(right, str):
        return type(told) is type(right) and bool(told == right)
    if isinstance(told, bool) or not isinstance(told, int | float):
        return False
    return told == right or (isinstance(right, float) and math.isclose(told, right, rel_tol=1e-9))


def _told(got: Mapping[str, Any]) -> str:
    kinds = got.get("error")
    if got.get("unsendable"):
        return "something that is no plain value"
    return f"{kinds[0]}" if isinstance(kinds, list) and kinds else _short(repr(got.get("value")))


def _wanted(want: Expected) -> str:
    return want.error or _short(repr(want.value))


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:157]}…"
