"""Builds the exchange of a streamed reply from what was said when."""

from __future__ import annotations

import json
from typing import Any

from pitstop.client.exchange import Exchange, Fault


def sse(data: Any) -> bytes:
    """One event of a JSON value, or of bytes as they are."""
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return b"data: " + text + b"\n\n"


DONE = sse(b"[DONE]")


def said(content: str | None = None, *, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    fields = ({} if content is None else {"content": content}) | delta
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def counted(chunk: dict[str, Any], completion: int, prompt: int = 64, **more: Any) -> dict[str, Any]:
    """The chunk with usage in it."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}
    return {**chunk, "usage": usage}


def total(completion: int, prompt: int = 64, **more: Any) -> dict[str, Any]:
    """A trailing chunk that holds usage alone."""
    return counted({"object": "chat.completion.chunk", "choices": []}, completion, prompt, **more)


def exchange(*pieces: tuple[float, Any], fault: Fault | None = None, status: int = 200, **fields: Any) -> Exchange:
    """An exchange whose request was sent at 100.0; each piece is (seconds later, bytes or a chunk)."""
    parts = [piece if isinstance(piece, bytes) else sse(piece) for _, piece in pieces]
    ends, length = [], 0
    for part in parts:
        length += len(part)
        ends.append(length)
    return Exchange(
        url="http://x/v1/chat/completions", sent_at=100.0, headers_at=100.0,
        finished_at=100.0 + (pieces[-1][0] if pieces else 0.0), status=status, body=b"".join(parts),
        times=tuple(100.0 + t for t, _ in pieces), ends=tuple(ends), fault=fault,
        reason="it broke" if fault else "", **fields,
    )  # fmt: skip
