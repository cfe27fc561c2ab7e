"""Values as JSON, whatever text the world has put into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


def encoded(value: Any, enc_hook: Callable[[Any], Any] | None = None) -> bytes:
    """JSON in UTF-8, with U+FFFD where a text holds what UTF-8 has no form for.

    Command lines, file names and what servers say may hold half of a surrogate pair. That is no reason why a step of
    a trial, above all of a restore, could not be written down.
    """
    try:
        return msgspec.json.encode(value, enc_hook=enc_hook)
    except UnicodeEncodeError:
        return msgspec.json.encode(_cleaned(msgspec.to_builtins(value, str_keys=True, enc_hook=enc_hook)))


def sendable(text: str) -> str:
    """The text with the halves of a character joined that came apart; a lone half becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(inner) for inner in value]
    return value
