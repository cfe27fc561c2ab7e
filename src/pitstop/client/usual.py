"""The events that nearly all servers send nearly all the time, read in a tenth of the time of the general way.

Anything that is not exactly of this shape, an unknown field included, is left to `dialect.understand`; where this one
answers, both say the same (a property test holds them together).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from pitstop.client.dialect import Said, Usage

_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


class _Details(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    cached_tokens: _Count | None = None
    reasoning_tokens: _Count | None = None
    audio_tokens: int | None = None
    accepted_prediction_tokens: int | None = None
    rejected_prediction_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    prompt_tokens: _Count
    completion_tokens: _Count
    total_tokens: _Count | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    reasoning_tokens: _Count | None = None


class _Timings(msgspec.Struct, gc=False):
    """llama.cpp's, of which only two counts matter; there are many others."""

    predicted_n: _Count | None = None
    cache_n: _Count | None = None


class _Delta(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    role: str | msgspec.UnsetType = msgspec.UNSET
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[()] | None = None  # vLLM sends an empty list with every delta
    refusal: None = None
    function_call: None = None


class _Choice(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    delta: _Delta
    index: int = 0
    finish_reason: str | None = None
    logprobs: None = None
    stop_reason: int | str | None = None
    matched_stop: int | str | None = None
    token_ids: list[int] | None = None


class _Event(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    choices: list[_Choice]
    id: str | None = None
    object: str | None = None
    created: int | float | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    usage: _Usage | None = None
    timings: _Timings | None = None
    prompt_token_ids: None = None


_decoder = msgspec.json.Decoder(_Event)


def understand_usual(data: bytes) -> Said | None:
    """What an event says, when it is a usual one with at most one choice; else None."""
    try:
        event = _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError):  # a ValidationError is a DecodeError
        return None
    if len(event.choices) > 1 or event.object == "error":
        return None
    usage = None if event.usage is None else _usage(event.usage)
    timed = None
    if event.timings is not None:
        usage, timed = _with_cached(usage, event.timings.cache_n), event.timings.predicted_n
    if not event.choices:
        return Said(usage=usage, timed_tokens=timed, model=event.model)
    return _said(event.choices[0], usage, timed, event.model)


def _said(choice: _Choice, usage: Usage | None, timed: int | None, model: str | None) -> Said:
    delta = choice.delta
    return Said(  # by position, which is faster
        delta.content or "",
        delta.reasoning_content or delta.reasoning or "",
        "",
        True,
        delta.role is not msgspec.UNSET,
        choice.finish_reason or None,
        usage,
        timed,
        None if choice.token_ids is None else len(choice.token_ids),
        model,
    )


def _with_cached(usage: Usage | None, cached: int | None) -> Usage | None:
    if cached is None or (usage is not None and usage.cached_tokens is not None):
        return usage
    return msgspec.structs.replace(usage or Usage(), cached_tokens=cached)


def _usage(usage: _Usage) -> Usage:
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    reasoning = completion.reasoning_tokens if completion is not None else None
    return Usage(
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens if reasoning is None else reasoning,
        None if prompt is None else prompt.cached_tokens,
        usage.total_tokens,
    )
