"""Reads "this does not fit into the context" out of an error, with the two numbers where they are given."""

from __future__ import annotations

import re
from typing import Any

_CONTEXT_TYPES = {"context_length_exceeded", "exceed_context_size_error"}
_IS_CONTEXT = re.compile(
    r"context[ _-](length|size|window)|max_model_len|maximum (model )?(sequence )?length|max_total_tokens"
    r"|(prompt|input)s? (is |are )?too long|longer than the (model|maximum)",
    re.IGNORECASE,
)
_LIMITS = (
    r"(?:context[ _-](?:length|size|window)|max_model_len|maximum (?:model )?(?:sequence )?length)\D{0,40}?(\d[\d,]*)",
    r"(\d[\d,]*)\s+maximum context",
    r"must be <=\s*(\d[\d,]*)",
)
_REQUESTED = (
    r"requested (?:a total of )?(\d[\d,]*) tokens",
    r"(?:has|have|contains|prompt|input|request|given|got)\D{0,30}?(\d[\d,]*)\s*(?:input |prompt |`inputs` )?tokens",
    r"(\d[\d,]*) (?:input |prompt )?tokens",
)


def is_overlong(error: dict[str, Any], said: str) -> bool:
    """Whether an error says that prompt and reply together are too long."""
    inner = inner_error(error)
    named = inner.get("code"), inner.get("type")
    return any(name in _CONTEXT_TYPES for name in named if isinstance(name, str)) or bool(_IS_CONTEXT.search(said))


def context_numbers(error: dict[str, Any], said: str) -> tuple[int | None, int | None]:
    """Tokens asked for and tokens that fit: llama.cpp's fields first, then the words of the message."""
    inner = inner_error(error)
    fields = inner.get("n_prompt_tokens"), inner.get("n_ctx")
    requested, limit = (number if isinstance(number, int) and number > 0 else None for number in fields)
    limit = limit or _first_number(_LIMITS, said)
    return requested or _first_number(_REQUESTED, said, but=limit), limit


def inner_error(error: dict[str, Any]) -> dict[str, Any]:
    """The object under `error`, or the object itself where a server leaves that level out."""
    inner = error.get("error")
    return inner if isinstance(inner, dict) else error


def _first_number(patterns: tuple[str, ...], text: str, but: int | None = None) -> int | None:
    for pattern in patterns:
        for found in re.finditer(pattern, text, re.IGNORECASE):
            number = int(found.group(1).replace(",", "")[:15])
            if number != but:
                return number
    return None
