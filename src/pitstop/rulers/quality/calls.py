"""Judges calls of tools: right tool, right arguments, right order; and what the tools answer meanwhile."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pitstop.client.tool_calls import ToolCall
from pitstop.rulers.quality.keys import Call, ToolKey
from pitstop.rulers.unsplit_thought import without_thought

# How templates write a call, which a server's parser should have taken out: Hermes and Qwen, GLM, Kimi, MiniMax, Seed,
# Nemotron, DeepSeek (with full-width bars), Llama, Mistral, gpt-oss, InternLM, Phi.
_TEMPLATES = re.compile(
    r"<[^<>\s]{0,12}tool[_▁]?calls?|<[^<>\s=]{0,12}function(?:=|_calls?\b)|<[^<>\s]{0,12}invoke name=|\[TOOL_CALLS\]"
    r"|<\|python_tag\|>|\bto=functions\.|<\|action_start\|>|\bfunctools\[",
    re.IGNORECASE,
)
_AS_JSON = r"""["'](?:arguments|parameters|args|(?:tool|action)_input)["']\s*:"""
_AS_ACTION = r"\bAction\s*:[^\n]*\n\s*Action Input\s*:"


@dataclass(frozen=True)
class CallsMark:
    """`malformed`: a call that no server could carry out, as against one that is only not the right one."""

    right: bool
    malformed: bool = False
    reason: str = ""


def judge_calls(key: ToolKey, made: Sequence[ToolCall], answer: str) -> CallsMark:
    """All calls of a conversation, in order, against those that there should be."""
    for call in made:
        broken = malformed(call, key)
        if broken:
            return CallsMark(False, malformed=True, reason=broken)
    if _written(key, without_thought(answer), told=bool(made)):
        return CallsMark(False, malformed=True, reason="a call was written into the answer instead of being made")
    if len(made) != len(key.calls):
        return CallsMark(False, reason=f"{_times(len(made))} instead of {_times(len(key.calls))}: {key.words}")
    for number, (call, wanted) in enumerate(zip(made, key.calls, strict=True), 1):
        wrong = _difference(call, wanted)
        if wrong:
            return CallsMark(False, reason=f"call {number}: {wrong}")
    return CallsMark(True)


def _written(key: ToolKey, answer: str, *, told: bool) -> bool:
    """Whether a call stands in the answer: in a template's form, as JSON or as `get_weather(city="Oslo")`.

    All but the first may tell of a call that was really made, where one was (`told`).
    """
    names = "|".join(re.escape(tool["function"]["name"]) for tool in key.tools)
    named = rf"\b(?:{names})(?:(?:\.call)?\(|[\s:`]{{1,6}}(?:json\s*)?\{{)"
    as_value = rf"""["'](?:name|tool|function|action)["']\s*:\s*["'](?:{names})["']"""
    in_words = re.compile("|".join((_AS_JSON, _AS_ACTION, named, as_value)))
    return bool(_TEMPLATES.search(answer) or (not told and in_words.search(answer)))


def malformed(call: ToolCall, key: ToolKey) -> str:
    """Why this call cannot be carried out at all, or nothing."""
    if call.name not in {tool["function"]["name"] for tool in key.tools}:
        return f"there is no tool {call.name[:60]!r}"
    if arguments_of(call) is None:
        return f"the arguments of {call.name} are no JSON object: {call.arguments[:120]!r}"
    return ""


def arguments_of(call: ToolCall) -> Mapping[str, Any] | None:
    """The arguments as they were meant; no text at all means none. None when they cannot be read."""
    try:
        read = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def answer_to(key: ToolKey, call: ToolCall, so_far: int) -> str:
    """What the tool says: its result when the call is the expected one, else an error that a model can act on."""
    if so_far < len(key.calls) and not malformed(call, key) and not _difference(call, key.calls[so_far]):
        return key.calls[so_far].result
    return '{"error": "nothing was found for these arguments"}'


def _difference(call: ToolCall, wanted: Call) -> str:
    if call.name != wanted.name:
        return f"{call.name} instead of {wanted.name}"
    given = arguments_of(call) or {}
    for name in {**given, **wanted.arguments}:
        told, right = given.get(name, _MISSING), wanted.arguments.get(name, _MISSING)
        if right is _MISSING and name in wanted.optional:
            right = wanted.optional[name]
        if not same(told, right):
            return f"{name} is {_shown(told)} instead of {_shown(right)}"
    return ""


def same(told: Any, right: Any) -> bool:
    """Equal as JSON, texts apart from case and outer blanks; 20 and 20.0 are one number, "20" and True are none."""
    if isinstance(told, str) and isinstance(right, str):
        return told.strip().casefold() == right.strip().casefold()
    if isinstance(told, Mapping) and isinstance(right, Mapping):
        return told.keys() == right.keys() and all(same(told[name], right[name]) for name in right)
    if isinstance(told, list) and isinstance(right, list):
        return len(told) == len(right) and all(map(same, told, right))
    numbers = isinstance(told, int | float) and isinstance(right, int | float)
    if numbers and isinstance(told, bool) == isinstance(right, bool):
        return bool(told == right)
    return type(told) is type(right) and bool(told == right)


class _Missing:
    def __repr__(self) -> str:
        return "missing"


_MISSING = _Missing()


def _shown(value: Any) -> str:
    return repr(value)[:80]


def _times(count: int) -> str:
    return "no call" if not count else "1 call" if count == 1 else f"{count} calls"
