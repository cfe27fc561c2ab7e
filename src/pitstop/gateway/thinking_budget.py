"""`thinking_token_budget`: put in where the client said nothing, kept below `max_tokens`, and checked afterwards."""

from __future__ import annotations

from enum import StrEnum

from pitstop.gateway.members import Members

FIELD = "thinking_token_budget"  # vLLM's name, at the top level of the request; also what `supports` must list
# Where clients put engine-specific fields. Some send `extra_body` itself instead of its content.
_NESTED = ("extra_body", "chat_template_kwargs", "vllm_xargs")
_NAMES = (FIELD, "thinking_budget")
# An engine closes the thought with a few tokens of its own: a budget of 20 gave 21 on vLLM 0.32, and a step of
# speculative decoding may overshoot by its depth. Less than this above the budget is no violation.
SLACK_TOK = 16
_ANSWER_ROOM_TOK = 256


class Kept(StrEnum):
    KEPT = "kept"
    EXCEEDED = "exceeded"
    UNKNOWN = "unknown"  # the engine does not say how many tokens were reasoning


def client_decides(members: Members) -> bool:
    """Whether the client named a budget anywhere; 0, null and false are decisions too."""
    if FIELD in members:
        return True
    for place in _NESTED:
        nested = members.get(place)
        if isinstance(nested, dict) and any(name in nested for name in _NAMES):
            return True
    return False


def clamped(budget: int, max_tokens: int | None) -> int:
    """The budget, lowered so that an answer fits: half of `max_tokens`, at most 256 tokens, stays for it.

    With 1,536 of 2,048 tokens for the thought, 9 of 10 answers of the second report were cut off.
    """
    if max_tokens is None or max_tokens < 0:
        return budget
    room = max(1, min(_ANSWER_ROOM_TOK, max_tokens // 2))
    return max(0, min(budget, max_tokens - room))


def judge(budget: int, reasoning_tokens: int | None) -> Kept:
    """Whether the engine enforced the budget that it was given."""
    if reasoning_tokens is None:
        return Kept.UNKNOWN
    return Kept.EXCEEDED if reasoning_tokens > budget + SLACK_TOK else Kept.KEPT
