"""What servers say about tokens, in one vocabulary. Nothing is ever computed here: None is "not said".

Shapes: OpenAI chat and completions (`prompt_tokens`, `completion_tokens`, details), responses and Anthropic messages
(`input_tokens`, `output_tokens`), SGLang's `reasoning_tokens` at the top level.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None

    def later(self, other: Usage) -> Usage:
        """Both readings of one answer: each number as it was said last (they are running totals, never summed)."""
        said = {key: value for key, value in msgspec.structs.asdict(other).items() if value is not None}
        return msgspec.structs.replace(self, **said)


UNKNOWN = Usage()


def from_reply(reply: Any) -> Usage:
    """The usage in a whole reply or in one event of a stream, wherever its API puts it."""
    if not isinstance(reply, dict):
        return UNKNOWN
    usage = _read(reply.get("usage"))
    for place in ("response", "message"):  # events of /v1/responses; `message_start` of /v1/messages
        inner = reply.get(place)
        if isinstance(inner, dict):
            usage = usage.later(_read(inner.get("usage")))
    return usage


def _read(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return UNKNOWN
    return Usage(
        prompt_tokens=_first(usage, "prompt_tokens", "input_tokens"),
        completion_tokens=_first(usage, "completion_tokens", "output_tokens"),
        reasoning_tokens=_detail(usage, ("completion_tokens_details", "output_tokens_details"), "reasoning_tokens"),
        cached_tokens=_detail(usage, ("prompt_tokens_details", "input_tokens_details"), "cached_tokens"),
    )


def _first(usage: dict[str, Any], *names: str) -> int | None:
    for name in names:
        if (count := _count(usage.get(name))) is not None:
            return count
    return None


def _detail(usage: dict[str, Any], places: tuple[str, ...], name: str) -> int | None:
    for place in places:
        detail = usage.get(place)
        if isinstance(detail, dict) and (count := _count(detail.get(name))) is not None:
            return count
    spelled = "cache_read_input_tokens" if name == "cached_tokens" else name
    return _count(usage.get(spelled))


def _count(value: Any) -> int | None:
    """A plausible number of tokens; 2**53 is where other readers of the ledger would lose digits."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
