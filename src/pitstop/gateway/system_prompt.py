"""A route's system prompt put in front of what the client brought: one leading system message, never a second one.

The order is: the route's prompt, then the client's own system and developer messages in the order in which they came.
Chat templates refuse a system message anywhere but at the beginning ("System message must be at the beginning."), so
later ones move to the front too. The role (`system` or `developer`) and further fields are those of the client's first
one; parts stay parts.
"""

from __future__ import annotations

from typing import Any

import msgspec

LEADING = ("system", "developer")


class _Message(msgspec.Struct):
    """As much of a message as deciding needs."""

    role: Any = None


_messages = msgspec.json.Decoder(list[msgspec.Raw])
_message = msgspec.json.Decoder(_Message)


def in_messages(prompt: str, raw: bytes, *, part_type: str = "text") -> bytes | None:
    """The `messages` array with `prompt` merged in; None when it is no array of messages (the engine will say so).

    Every other message keeps its bytes.
    """
    try:
        messages = [bytes(message) for message in _messages.decode(raw)]
        leading = [message for message in messages if _message.decode(message).role in LEADING]
        merged = _merged(prompt, [msgspec.json.decode(message) for message in leading], part_type)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, TypeError):
        return None
    others = [message for message in messages if message not in leading]  # equal bytes are an equal message
    return b"[" + b",".join([merged, *others]) + b"]"


def has_leading(raw: bytes) -> bool:
    """Whether an array of messages brings a system or developer message."""
    try:
        return any(_message.decode(message).role in LEADING for message in _messages.decode(raw))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, TypeError):
        return False


def in_text(prompt: str, text: Any) -> bytes | None:
    """`instructions` or `system`: a string, a list of blocks, or nothing yet; None when it is something else."""
    if text is None:
        return msgspec.json.encode(prompt)
    if isinstance(text, str | list):
        return msgspec.json.encode(_joined([prompt, text], "text"))
    return None


def _merged(prompt: str, leading: list[dict[str, Any]], part_type: str) -> bytes:
    first = leading[0] if leading else {"role": "system"}
    contents = [message["content"] for message in leading if message.get("content") is not None]
    return msgspec.json.encode({**first, "content": _joined([prompt, *contents], part_type)})


def _joined(contents: list[Any], part_type: str) -> Any:
    """Strings become one string; as soon as one of them has parts, all become parts."""
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(content for content in contents if content)
    parts: list[Any] = []
    for content in contents:
        if isinstance(content, list):
            parts += content
        elif isinstance(content, str):
            parts.append({"type": part_type, "text": content})
        else:
            raise TypeError("content is neither text nor parts")
    return parts
