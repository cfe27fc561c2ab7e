"""From the bytes of one exchange to the account of one reply: what was said, how many tokens, when, and what is odd.

Tokens are the server's own count, never the number of events. Nothing in a reply makes this fail: a reply that broke is
an account with `ok` false and its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from pitstop.client.decode import Decode, Ending, TokenEvent, decode_of
from pitstop.client.dialect import FAILED_FINISHES, Usage
from pitstop.client.doubts import decode_doubts, usage_doubts
from pitstop.client.exchange import Exchange, Fault
from pitstop.client.refusal import Failure, Refusal, refusal_in_stream, refusal_of, without_secret
from pitstop.client.tally import Tally, tally_of
from pitstop.core.documents import RequestRecord

LENGTH_FINISHES = frozenset({"length", "max_tokens", "model_length"})


@dataclass(frozen=True)
class Account:
    """One reply. `record` goes into documents; the rest is for rulers and for people."""

    record: RequestRecord
    answer: str = ""
    reasoning: str = ""
    tools: str = ""
    events: tuple[TokenEvent, ...] = ()
    decode: Decode = field(default_factory=Decode)
    usage: Usage = field(default_factory=Usage)
    refusal: Refusal | None = None
    model: str | None = None  # the name that the server answered with

    @property
    def ok(self) -> bool:
        return self.record.ok

    @property
    def answer_tokens(self) -> int | None:
        """Completion without reasoning, where the server tells them apart; never negative."""
        completion, reasoning = self.usage.completion_tokens, self.usage.reasoning_tokens
        return None if completion is None or reasoning is None else max(0, completion - reasoning)


def account_of(
    raw: Exchange,
    *,
    model: str,
    max_tokens: int | None = None,
    ruler: str = "",
    case: str = "",
    secret: str | None = None,
) -> Account:
    """The account of one exchange.

    `max_tokens` is what was asked for; a usage beyond it is not believed. `secret` is the key that was sent, in case a
    server repeats it in an error.
    """
    tally = tally_of(raw)
    refusal = without_secret(_refusal(raw, tally, model), secret)
    usage, source = tally.usage()
    events = tally.token_events(usage.completion_tokens)
    hidden = (usage.reasoning_tokens or 0) if not tally.reasoning else 0
    ending = Ending(by_length=tally.finish in LENGTH_FINISHES, textless=tally.finish_textless, hidden_tok=hidden)
    decode = _decode(refusal, events, usage, ending)
    text_bytes = sum(event.text_bytes for event in events)
    anomalies = (
        *tally.anomalies(),
        *usage_doubts(usage, max_tokens=max_tokens, text_bytes=text_bytes, events=len(events), hidden_tok=hidden),
        *decode_doubts(decode, counted=bool(tally.counted_by)),
    )
    record = RequestRecord(
        ruler=ruler,
        case=case,
        ok=refusal is None,
        error=f"{refusal.failure}: {refusal.text}" if refusal else "",
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cached_tokens=usage.cached_tokens,
        events=len(events),
        first_event_tokens=decode.first_tok,
        tokens_source=f"{source}+{tally.counted_by}" if decode.exact and tally.counted_by else source,
        decode_tok_s=decode.value,
        finish_reason=tally.finish,
        text_bytes=text_bytes,
        first_event_bytes=events[0].text_bytes if events else 0,
        anomalies=tuple(dict.fromkeys(anomalies)),
    )
    return Account(
        record=_timed(record, raw, events),
        answer=tally.answer,
        reasoning=tally.reasoning,
        tools=tally.tools,
        events=events,
        decode=decode,
        usage=usage,
        refusal=refusal,
        model=tally.model,
    )


def _decode(refusal: Refusal | None, events: Sequence[TokenEvent], usage: Usage, ending: Ending) -> Decode:
    if refusal:
        return Decode(reason="the request failed")
    if usage.unusable:
        return Decode(reason=f"the server's count cannot be used ({usage.unusable}), so its tokens are not known")
    return decode_of(events, usage.completion_tokens, ending)


def _timed(record: RequestRecord, raw: Exchange, events: Sequence[TokenEvent]) -> RequestRecord:
    """The record with its times, in seconds since the request was sent."""
    if raw.sent_at is None:
        return record
    last = raw.times[-1] if raw.times and record.ok else raw.finished_at
    return msgspec.structs.replace(
        record,
        ttfr_s=raw.times[0] - raw.sent_at if raw.times else None,
        ttft_s=events[0].t if events else None,
        ttfa_s=next((event.t for event in events if event.channel in {"answer", "tool"}), None),
        last_token_s=events[-1].t if events else None,
        e2e_s=last - raw.sent_at if last is not None else None,
    )


def _refusal(raw: Exchange, tally: Tally, model: str) -> Refusal | None:
    """Why this is no reply to measure; None when it is a whole one."""
    if raw.status == 200 and tally.done and raw.fault in {Fault.TRUNCATED, Fault.RESET, Fault.DEADLINE}:
        pass  # everything was said; how the connection ended afterwards is an anomaly, not a failure
    elif refusal := refusal_of(raw, model):
        return refusal
    if tally.error is not None:
        return refusal_in_stream(tally.error)
    if tally.broken is not None:
        return Refusal(Failure.NOT_JSON, f"an event is no JSON: {tally.broken!r}")
    return _incomplete(tally)


def _incomplete(tally: Tally) -> Refusal | None:
    if tally.not_a_stream:
        return Refusal(Failure.NOT_A_STREAM, f"the server answered {tally.not_a_stream} instead of an event stream")
    if tally.finish in FAILED_FINISHES:
        return Refusal(Failure.STREAM_ERROR, f"the server gave up in the middle (finish_reason {tally.finish!r})")
    if not tally.done and tally.finish is None:
        return Refusal(Failure.ENDED_EARLY, "the stream ended without a finish reason and without [DONE]")
    return None
