"""Whether the tool itself was the limit: its own delay, held against what it measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pitstop.client.chat import Reply

MOST_SHARE = 0.01  # of a rate or of a time: the accuracy that is promised
MOST_S = 0.005  # below this a time to the first token is what was promised anyway


def decode_lateness(replies: Sequence[Reply]) -> tuple[str, ...]:
    """A sentence when the tool may have been late by more than 1 % of a decoding time."""
    spans = ((r.record.last_token_s or 0.0) - (r.record.ttft_s or 0.0) for r in replies)
    return _told((r.client_late_s, span) for r, span in zip(replies, spans, strict=True) if span > 0)


def first_token_lateness(replies: Sequence[Reply]) -> tuple[str, ...]:
    """A sentence when the tool may have been late by more than 5 ms and 1 % of a time to the first token."""
    pairs = ((r.client_late_s, r.record.ttft_s) for r in replies if r.client_late_s > MOST_S)
    return _told((late_s, time_s) for late_s, time_s in pairs if time_s)


def _told(pairs: Iterable[tuple[float, float]]) -> tuple[str, ...]:
    worst = max(pairs, key=lambda pair: pair[0] / pair[1], default=None)
    if worst is None or worst[0] <= MOST_SHARE * worst[1]:
        return ()
    late_s, time_s = (f"{seconds * 1e3:.0f} ms" for seconds in worst)
    return (f"this tool was late by up to {late_s} in {time_s}: it, or its machine, was the limit",)
