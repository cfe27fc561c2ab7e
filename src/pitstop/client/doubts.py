"""What disagrees within one reply, with the numbers. A figure over such a reply is not to be called verified."""

from __future__ import annotations

from pitstop.client.decode import Decode
from pitstop.client.dialect import Usage

UNUSABLE = "usage-unusable"
TEXT_SLACK_TOK = 16  # tokens beyond one a byte that markup may explain; beyond that, usage is not about this text


def usage_doubts(usage: Usage, *, max_tokens: int | None, text_bytes: int, events: int, hidden_tok: int) -> list[str]:
    """Where the server's counts contradict what was asked, what was sent, or each other."""
    tokens = usage.completion_tokens
    found = _contradictions(usage)
    if hidden_tok:
        found.append(f"hidden-reasoning: {hidden_tok} tokens were thought and not sent")
    if usage.unusable:
        found.append(f"{UNUSABLE}: {usage.unusable}")
    if tokens is None:
        return found
    if max_tokens is not None and tokens > max_tokens:
        found.append(f"usage-implausible: {tokens} tokens, at most {max_tokens} asked for")
    if text_bytes and tokens - hidden_tok > text_bytes + TEXT_SLACK_TOK:
        found.append(f"usage-implausible: {tokens} tokens in {text_bytes} bytes of text")
    if events > max(tokens, 1):
        found.append(f"events-exceed-tokens: {events} events, {tokens} tokens")
    return found


def decode_doubts(decode: Decode, *, counted: bool) -> list[str]:
    """What the arrivals say against a rate."""
    found = ["buffered"] if decode.buffered else []
    if counted and decode.value is not None and not decode.exact:
        found.append("per-event-counts-unusable")
    return found


def _contradictions(usage: Usage) -> list[str]:
    found = []
    prompt, completion, total = usage.prompt_tokens, usage.completion_tokens, usage.total_tokens
    if usage.reasoning_tokens is not None and completion is not None and usage.reasoning_tokens > completion:
        found.append(f"reasoning-exceeds-completion: {usage.reasoning_tokens} of {completion} tokens")
    if prompt is not None and completion is not None and total is not None and total != prompt + completion:
        found.append(f"usage-total-disagrees: {prompt} + {completion} is not {total}")
    return found
