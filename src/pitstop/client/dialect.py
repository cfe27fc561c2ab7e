"""What one event of a stream says, in whichever dialect. Every field may be missing, null or of a wrong type."""

from __future__ import annotations

from typing import Any

import msgspec

# The first that holds text counts; servers that send two of them send the same text twice.
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks",
                     "reasoning_text", "thought", "thoughts")  # fmt: skip
_ANSWER_FIELDS = ("content", "text", "refusal")
_PART_FIELDS = ("text", "thinking", "summary", "content")
# finish reasons that mean "it broke": SGLang and vLLM (abort), OpenRouter (error), Zhipu, DeepSeek
FAILED_FINISHES = frozenset({"error", "abort", "network_error", "insufficient_system_resource"})


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Counts as a server gave them; None where it gave none."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    total_tokens: int | None = None
    unusable: str = ""  # a completion count that the server sent and that is none, as in `completion_tokens: -5`


class Said(msgspec.Struct, frozen=True, gc=False):
    """One event, understood."""

    answer: str = ""
    reasoning: str = ""
    tools: str = ""  # names and arguments of tool calls, as they were written
    has_choices: bool = False
    names_role: bool = False
    finish: str | None = None
    usage: Usage | None = None
    timed_tokens: int | None = None  # llama.cpp, `timings.predicted_n`
    new_ids: int | None = None  # vLLM, `token_ids`; else one per entry of `logprobs.content`
    model: str | None = None

    @property
    def has_text(self) -> bool:
        return bool(self.answer or self.reasoning or self.tools)


def understand(event: dict[str, Any]) -> Said:
    """Read an event that is a JSON object and no error."""
    choices = [choice for choice in _list(event.get("choices")) if isinstance(choice, dict)]
    deltas = [delta for choice in choices if (delta := _delta(choice)) is not None]
    timings = _dict(event.get("timings"))
    return Said(
        answer="".join(_answer(delta) for delta in deltas),
        reasoning="".join(_reasoning(delta) for delta in deltas),
        tools="".join(_tool_text(delta) for delta in deltas),
        has_choices=bool(choices),
        names_role=any("role" in delta for delta in deltas),
        finish=next((str(reason) for choice in choices if (reason := choice.get("finish_reason"))), None),
        usage=_usage(event, choices, timings),
        timed_tokens=_count(timings.get("predicted_n")),
        new_ids=_new_ids(choices),
        model=model if isinstance(model := event.get("model"), str) else None,
    )


def error_of(event: dict[str, Any], event_type: str = "message") -> str | None:
    """What went wrong, when this event reports an error instead of tokens; else None."""
    error = event.get("error")
    if error:
        return _message(error)
    if event.get("choices"):
        return None
    if event_type == "error" or event.get("object") == "error" or event.get("type") == "error":
        return _message(event)
    if event.get("detail") and "choices" not in event:  # FastAPI
        return _message(event["detail"])
    return None


def read_usage(raw: Any, timings: dict[str, Any] | None = None) -> Usage | None:
    """The usage object of a reply, and llama.cpp's `timings` where it has none; None when neither counts anything."""
    usage, timings = _dict(raw), timings or {}
    inputs = _dict(usage.get("prompt_tokens_details")) or _dict(usage.get("input_tokens_details"))
    outputs = _dict(usage.get("completion_tokens_details")) or _dict(usage.get("output_tokens_details"))
    found = Usage(
        prompt_tokens=_first(usage, "prompt_tokens", "input_tokens"),
        completion_tokens=_first(usage, "completion_tokens", "output_tokens"),
        reasoning_tokens=_either(_first(outputs, "reasoning_tokens"), _first(usage, "reasoning_tokens")),
        cached_tokens=_either(
            _first(inputs, "cached_tokens"),
            _first(usage, "cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"),
            _first(timings, "cache_n"),
        ),
        total_tokens=_first(usage, "total_tokens"),
        unusable=_no_count(usage, "completion_tokens", "output_tokens"),
    )
    return found if found != Usage() else None


def _usage(event: dict[str, Any], choices: list[dict[str, Any]], timings: dict[str, Any]) -> Usage | None:
    places = [event.get("usage"), *(choice.get("usage") for choice in choices), _dict(event.get("x_groq")).get("usage")]
    return read_usage(next((place for place in places if isinstance(place, dict) and place), None), timings)


def _new_ids(choices: list[dict[str, Any]]) -> int | None:
    ids = [choice["token_ids"] for choice in choices if isinstance(choice.get("token_ids"), list)]
    if ids:
        return sum(map(len, ids))
    logprobs = [_dict(choice.get("logprobs")).get("content") for choice in choices]
    entries = [content for content in logprobs if isinstance(content, list)]
    return sum(map(len, entries)) if entries else None


def _delta(choice: dict[str, Any]) -> dict[str, Any] | None:
    for name in ("delta", "message"):
        if isinstance(choice.get(name), dict):
            found: dict[str, Any] = choice[name]
            return found
    return {"text": choice["text"]} if isinstance(choice.get("text"), str) else None


def _answer(delta: dict[str, Any]) -> str:
    return next((text for name in _ANSWER_FIELDS if (text := _text(_without_thoughts(delta.get(name))))), "")


def _reasoning(delta: dict[str, Any]) -> str:
    named = next((text for name in _REASONING_FIELDS if (text := _text(delta.get(name)))), "")
    return named or _text([part for part in _list(delta.get("content")) if _is_thought(part)])  # Mistral


def _without_thoughts(content: Any) -> Any:
    return [part for part in content if not _is_thought(part)] if isinstance(content, list) else content


def _is_thought(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in {"thinking", "reasoning"}


def _text(value: Any) -> str:
    """The text of a string, of a part, or of a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_text, value))
    if isinstance(value, dict):
        return next((text for name in _PART_FIELDS if (text := _text(value.get(name)))), "")
    return ""


def _tool_text(delta: dict[str, Any]) -> str:
    calls = [_dict(call).get("function") for call in _list(delta.get("tool_calls"))] + [delta.get("function_call")]
    return "".join(_text(_dict(call).get("name")) + _text(_dict(call).get("arguments")) for call in calls)


def _message(error: Any) -> str:
    if isinstance(error, dict):
        for name in ("message", "detail", "error", "msg"):
            if error.get(name):
                return _message(error[name])
    return " ".join(str(error).split())[:500]


def _first(counts: dict[str, Any], *names: str) -> int | None:
    return next((count for name in names if (count := _count(counts.get(name))) is not None), None)


def _no_count(counts: dict[str, Any], *names: str) -> str:
    sent = {name: counts[name] for name in names if counts.get(name) is not None}
    usable = any(_count(value) is not None for value in sent.values())
    return "" if usable else ", ".join(f"{name}: {str(value)[:20]}" for name, value in sent.items())


def _either(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _count(value: Any) -> int | None:
    """A whole number that is not negative; anything else is no count."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53 or value != int(value):
        return None
    return int(value)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
