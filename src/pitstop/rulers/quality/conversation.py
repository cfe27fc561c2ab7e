"""Asks one task: one request, or, with tools, as many as it takes until the model calls none any more."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pitstop.client.account import LENGTH_FINISHES
from pitstop.client.chat import Reply
from pitstop.client.refusal import Failure
from pitstop.client.tool_calls import ToolCall, tool_calls_of
from pitstop.rulers.asking import Asker, Wish
from pitstop.rulers.quality.calls import answer_to, malformed
from pitstop.rulers.quality.keys import ToolKey
from pitstop.rulers.quality.task import Instance, digest

_FURTHER_TURNS = 2  # beyond one for each expected call: enough to be wrong, and an end to a loop
_LEAST_TOK = 16


@dataclass(frozen=True)
class Manner:
    """How every task of a run is asked."""

    temperature: float
    max_tokens: int
    thinking: dict[str, Any] = field(default_factory=dict)  # request fields that switch it
    context_tok: int | None = None
    seed_of_run: str = ""  # empty: the server takes no seed


@dataclass(frozen=True)
class Said:
    """What a model said to one task, in all of its turns."""

    replies: tuple[Reply, ...]
    calls: tuple[ToolCall, ...] = ()

    @property
    def last(self) -> Reply:
        return self.replies[-1]

    @property
    def answer(self) -> str:
        return self.last.answer

    @property
    def reasoning(self) -> str:
        return "\n\n".join(reply.reasoning for reply in self.replies if reply.reasoning)

    @property
    def error(self) -> str:
        """Why a request failed; nothing when all were answered."""
        return next((reply.record.error or "no reason given" for reply in self.replies if not reply.ok), "")

    @property
    def unreachable(self) -> bool:
        return any(reply.refusal is not None and reply.refusal.failure is Failure.UNREACHABLE for reply in self.replies)

    @property
    def context_tok(self) -> int | None:
        """The context that a server told when it refused the very first request as too long."""
        refusal = self.replies[0].refusal
        return refusal.limit_tok if refusal is not None and refusal.failure is Failure.CONTEXT else None

    @property
    def cut_off(self) -> bool:
        return any(reply.record.finish_reason in LENGTH_FINISHES for reply in self.replies)

    @property
    def digest(self) -> str:
        """Over everything that was said: two equal ones are one draw."""
        return digest(self.reasoning, self.answer, *(f"{call.name}({call.arguments})" for call in self.calls))


async def converse(asker: Asker, instance: Instance, repeat: int, manner: Manner) -> Said:
    """Ask, and answer the calls of tools. Nothing is asked any more after a call that no tool could carry out."""
    key, replies = instance.key, list[Reply]()
    calls, then = list[ToolCall](), tuple[dict[str, Any], ...]()
    offered = {"tools": list(key.tools)} if isinstance(key, ToolKey) else {}
    turns = len(key.calls) + 1 + _FURTHER_TURNS if isinstance(key, ToolKey) else 1
    for turn in range(turns):
        reply = await asker.ask(instance.name, _wish(instance, repeat, turn, manner, offered, then))
        replies.append(reply)
        made = tool_calls_of(reply.exchange) if isinstance(key, ToolKey) and reply.ok else []
        if not made or not isinstance(key, ToolKey):
            break
        then = (*then, *_turn(key, reply, made, len(calls)))
        calls += made
        if any(malformed(call, key) for call in made):
            break
    return Said(tuple(replies), tuple(calls))


def _wish(
    instance: Instance,
    repeat: int,
    turn: int,
    manner: Manner,
    offered: dict[str, Any],
    then: tuple[dict[str, Any], ...],
) -> Wish:
    seed = {"seed": seed_for(manner.seed_of_run, instance.name, repeat, turn)} if manner.seed_of_run else {}
    budget = budget_for(manner, instance.prompt, str(offered), str(then))
    extra = {**manner.thinking, **offered, **seed}
    return Wish(instance.prompt, budget, extra, temperature=manner.temperature, bare=True, then=then)


def budget_for(manner: Manner, *sent: str) -> int:
    """The budget, or what the context leaves of it: two bytes a token are the most that a prompt here takes."""
    if manner.context_tok is None:
        return manner.max_tokens
    prompt_tok = sum(len(text.encode("utf-8", "replace")) for text in sent) // 2 + 64
    return max(_LEAST_TOK, min(manner.max_tokens, manner.context_tok - prompt_tok))


def seed_for(run: str, task: str, repeat: int, turn: int = 0) -> int:
    """A seed of its own for every draw: without one, some servers draw the same in every boot (vLLM's default is 0)."""
    return int.from_bytes(hashlib.sha256(f"{run}\0{task}\0{repeat}\0{turn}".encode()).digest()[:4]) >> 1


def _turn(key: ToolKey, reply: Reply, made: Sequence[ToolCall], so_far: int) -> list[dict[str, Any]]:
    """The calls as the assistant's message, and what each tool answers."""
    assistant = {
        "role": "assistant",
        "content": reply.answer,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
            for call in made
        ],
    }
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": answer_to(key, call, so_far + number)}
        for number, call in enumerate(made)
    ]
    return [assistant, *results]
