"""What a server was found to accept: per-event counts, else usage at the end, else neither. A value, no memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import msgspec

from pitstop.client.endpoint import ChatRequest
from pitstop.client.refusal import Failure, Refusal

_NEWER_LIMIT = "max_completion_tokens"


class UsageMode(IntEnum):
    """How much counting is asked for; a refusal leads one step down."""

    NONE = 0
    AT_END = 1  # stream_options.include_usage
    PER_EVENT = 2  # and continuous_usage_stats


@dataclass(frozen=True)
class Agreement:
    """What one endpoint takes. `settled` once a request was accepted: later refusals are about something else."""

    usage: UsageMode = UsageMode.PER_EVENT
    timings: bool = False  # llama.cpp's timings_per_token
    temperature: bool = True  # some hosted models take none
    limit: str = "max_tokens"  # or max_completion_tokens, where the former is refused
    settled: bool = False


def payload(request: ChatRequest, model: str, agreement: Agreement) -> bytes:
    """The body to send. What the caller set in `extra` wins over everything but `stream`."""
    body: dict[str, Any] = {"model": model, "messages": list(request.messages), agreement.limit: request.max_tokens}
    if request.temperature is not None and agreement.temperature:
        body["temperature"] = request.temperature
    if agreement.usage is not UsageMode.NONE:
        body["stream_options"] = {"include_usage": True}
    if agreement.usage is UsageMode.PER_EVENT:
        body["stream_options"]["continuous_usage_stats"] = True
    if agreement.timings:
        body["timings_per_token"] = True
    return msgspec.json.encode({**body, **request.extra, "stream": True})


def step_down(agreement: Agreement, refusal: Refusal) -> Agreement | None:
    """What to ask for next after a refusal, or None when the refusal is not about what was asked for.

    A server that names the field is believed; one that rejects without a known reason is tried once more per step, as
    long as nothing was ever accepted.
    """
    if refusal.failure is Failure.REJECTED and (without := _without_named(agreement, refusal.said)):
        return without
    named = refusal.failure is Failure.FIELDS
    if not named and (agreement.settled or refusal.failure is not Failure.REJECTED):
        return None
    if agreement.timings and (not named or "timings_per_token" in refusal.said):
        return replace(agreement, timings=False)
    if agreement.usage is UsageMode.NONE:
        return None
    return replace(agreement, usage=UsageMode(agreement.usage - 1))


def _without_named(agreement: Agreement, said: str) -> Agreement | None:
    """What is left after a rejection that names a field of every request; None when it names none of them."""
    if agreement.limit != _NEWER_LIMIT and _NEWER_LIMIT in said:
        return replace(agreement, limit=_NEWER_LIMIT)
    if agreement.temperature and "temperature" in said:
        return replace(agreement, temperature=False)
    return None
