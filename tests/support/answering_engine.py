"""An engine that answers the quality ruler's questions, right or otherwise, as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from support.scripted_engine import Seen, Wire

Answer = Callable[[dict[str, Any]], "dict[str, Any] | None"]  # request body to a message, None: hang up
HELLO = {"content": "Hello."}


def text(content: str, *, finish: str = "stop", reasoning: str = "", tokens: int = 5) -> dict[str, Any]:
    return {"content": content, "reasoning_content": reasoning, "finish": finish, "tokens": tokens}


def calls(*made: tuple[str, Any]) -> dict[str, Any]:
    """A message that calls tools; arguments that are no text become JSON."""
    told = [
        {"index": i, "id": f"c{i}", "type": "function",
         "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)}}
        for i, (name, args) in enumerate(made)
    ]  # fmt: skip
    return {"tool_calls": told, "finish": "tool_calls"}


def answering(answer: Answer, *, slow_s: float = 0.0) -> Callable[[Seen, Wire], Any]:
    """A script for `scripted_engine.engine`: streams what `answer` says to each request."""

    async def script(seen: Seen, wire: Wire) -> None:
        if seen.line.startswith("GET"):
            await wire.reply(404, b"{}")
            return
        said = answer(seen.json)
        if said is None:
            wire.cut()
            return
        if "status" in said:
            await wire.reply(said["status"], json.dumps(said["body"]).encode())
            return
        if slow_s:
            await asyncio.sleep(slow_s)
        delta = {key: said[key] for key in ("content", "reasoning_content", "tool_calls") if said.get(key)}
        frames = [
            {"choices": [{"index": 0, "delta": {"role": "assistant", **delta}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": said.get("finish", "stop")}]},
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": said.get("tokens", 5)}},
        ]
        await wire.stream(*(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames), b"data: [DONE]\n\n")

    return script
