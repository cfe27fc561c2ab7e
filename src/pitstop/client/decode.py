"""The decode rate of one reply: tokens after the first event that carries tokens, over the time from it to the last.

Events that arrive as one burst count as one event, because a speculating engine may write the tokens of one step as
several events. The tokens of the first burst took an unknown time and are not counted; how many they are is known when
the server counts per event. When it does not, `value` is an estimate and `interval` covers every possible split. A
burst of more tokens than one step can make was held back on its way, so times are known to a burst only; beyond a tenth
of the reply there is no rate. See docs/accounting.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

BURST_S = 0.0001  # writes of one step lie tens of microseconds apart; no engine steps 10,000 times a second
BURST_SHARE = 0.1  # or a tenth of the usual spacing of steps (the 90th percentile of gaps: stalls are rare, bursts not)
BURST_MOST_S = 0.001  # but never more than this: a thousand steps a second are possible
DEEPEST_STEP_TOK = 16  # speculation in use drafts at most 15 tokens and adds one
# A burst with more of a reply than this, and more than a step holds, was held back somewhere.
BUFFERED_SHARE = 0.10
# A first burst of most of a reply with so few behind it is one lump and the rest of another: a buffer's times again.
# With more behind it, it is a parser that held back what came before the answer, and the rest has its own times.
FEW_BURSTS = 10
FASTEST_TOK_S = 5_000.0  # beyond any published single stream on one GPU, and where flushing a buffer begins
MARKUP_TOK = (
    4  # tokens that a parser may swallow before the first or after the last text: <|channel|>analysis<|message|>
)
CUT_CHARACTER_TOK = 3  # a reply cut by its length may end in up to three bytes of a character, which are no text


class TokenEvent(msgspec.Struct, frozen=True, gc=False):
    """One event that carried generated tokens. `total` is the server's count up to and with it, None without one."""

    t: float  # seconds since the request was sent
    text_bytes: int
    channel: str  # answer | reasoning | tool | none (a token without text)
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a reply ended: with its length used up, and with an event of its own that held no text.

    `hidden_tok` tokens are in the server's total and were never sent: thoughts that it keeps to itself.
    """

    by_length: bool
    textless: bool
    hidden_tok: int = 0


@dataclass(frozen=True, slots=True)
class Decode:
    """Rates in tokens per second. `value` None has a `reason`; `exact` means that the server counted per event."""

    value: float | None = None
    interval: tuple[float, float] | None = None
    seed: float | None = None  # (n - 1) / (t_last - t_first), the reports' form
    exact: bool = False
    first_tok: int | None = None  # tokens of the first burst, when counted
    tokens_per_event: float | None = None
    buffered: bool = False
    reason: str = ""


def decode_of(events: Sequence[TokenEvent], tokens: int | None, ending: Ending) -> Decode:
    """The decode rate of one whole reply of which the server counted `tokens`."""
    if tokens is None:
        return Decode(reason="the server gave no usage, so its tokens are not known")
    if not events:
        return Decode(reason="no event carried a token")
    sent = max(0, tokens - ending.hidden_tok)
    per_event = sent / len(events)
    span_s = events[-1].t - events[0].t
    seed = (sent - 1) / span_s if span_s > 0 and sent > 1 else None
    bursts = bursts_of(events)
    counts = _counts(bursts, tokens)
    share = _largest_share(bursts, counts)
    reason = _why_not(bursts, max(share, _share_of_lump(bursts, counts)), sent)
    if reason:
        return Decode(seed=seed, tokens_per_event=per_event, buffered=len(events) > 1, reason=reason)
    held_tok = share * sent if share * sent > DEEPEST_STEP_TOK else 0.0
    if counts and counts[-1] > counts[0]:
        return _exact(bursts, counts, held_tok, seed, per_event)
    return _estimated(bursts, sent, ending, held_tok, seed, per_event)


def _exact(bursts: list[Burst], counts: list[int], held_tok: float, seed: float | None, per_event: float) -> Decode:
    span_s = bursts[-1].t - bursts[0].t
    rate, slack = (counts[-1] - counts[0]) / span_s, held_tok / span_s
    interval = max(0.0, rate - slack), rate + slack
    return Decode(rate, interval, seed, exact=not held_tok, first_tok=counts[0], tokens_per_event=per_event)


class Burst(msgspec.Struct, frozen=True, gc=False):
    """Events that came together. `t` is when the last of them came."""

    t: float
    events: int
    text_bytes: int
    channel: str
    total: int | None


def bursts_of(events: Sequence[TokenEvent]) -> list[Burst]:
    """Events grouped by arrival: those that lie much closer together than the steps of this reply."""
    gaps = sorted(after.t - before.t for before, after in pairwise(events))
    usual_s = gaps[int(0.9 * len(gaps))] if gaps else 0.0
    gap_s = max(BURST_S, min(BURST_MOST_S, BURST_SHARE * usual_s))
    bursts: list[Burst] = []
    last_t = float("-inf")
    for event in events:
        if event.t - last_t < gap_s:
            bursts[-1] = _joined(bursts[-1], event)
        else:
            bursts.append(Burst(event.t, 1, event.text_bytes, event.channel, event.total))
        last_t = event.t
    return bursts


def _joined(burst: Burst, event: TokenEvent) -> Burst:
    total = burst.total if event.total is None else event.total
    return Burst(event.t, burst.events + 1, burst.text_bytes + event.text_bytes, burst.channel, total)


def _counts(bursts: list[Burst], tokens: int) -> list[int]:
    """The running count at each burst, when the server counted along and its counts can be true; else empty."""
    totals = [burst.total for burst in bursts if burst.total is not None]
    if len(totals) < len(bursts) or totals != sorted(totals) or abs(tokens - totals[-1]) > 1:
        return []
    still = sum(a == b for a, b in pairwise(totals))
    return totals if still <= 0.1 * len(bursts) else []  # counts that stand still do not count what was sent


def _why_not(bursts: list[Burst], share: float, tokens: int) -> str:
    """Why these arrivals say nothing about decoding; "" when they do."""
    if len(bursts) < 2:
        return "all tokens arrived at once; only the end-to-end rate is known"
    if share * tokens > DEEPEST_STEP_TOK and share > BUFFERED_SHARE:
        return (
            f"{share:.0%} of the tokens arrived at once: something between the engine and here holds tokens back; "
            "only the end-to-end rate is known"
        )
    rate = tokens / (bursts[-1].t - bursts[0].t)
    if rate > FASTEST_TOK_S:
        return f"{rate:.0f} tokens/s is a buffer being emptied, not an engine; only the end-to-end rate is known"
    return ""


def _largest_share(bursts: list[Burst], counts: list[int]) -> float:
    """The share of the largest burst in the reply, by count where the server counts, else by text.

    The first burst is left out: its tokens are subtracted, however many they are.
    """
    if counts and counts[-1]:
        return max((b - a for a, b in pairwise(counts)), default=0) / counts[-1]
    text = sum(burst.text_bytes for burst in bursts)
    return max((burst.text_bytes for burst in bursts[1:]), default=0) / text if text else 1 / len(bursts)


def _share_of_lump(bursts: list[Burst], counts: list[int]) -> float:
    """The first burst's share of the reply, where it is the larger part and hardly anything follows; else 0."""
    text = sum(burst.text_bytes for burst in bursts)
    share = counts[0] / counts[-1] if counts and counts[-1] else bursts[0].text_bytes / text if text else 0.0
    return share if share >= 0.5 and len(bursts) <= FEW_BURSTS else 0.0


def _estimated(
    bursts: list[Burst], tokens: int, ending: Ending, held_tok: float, seed: float | None, per_event: float
) -> Decode:
    first, rest = bursts[0], sum(burst.events for burst in bursts[1:])
    text = sum(burst.text_bytes for burst in bursts)
    most = max(first.events, tokens - rest)  # every later event holds at least one token
    if first.channel in {"answer", "reasoning"}:
        most = min(most, first.text_bytes + MARKUP_TOK)  # and a token of text at least one byte
    least = min(first.events, most)
    guess = min(max(tokens * first.text_bytes / text if text else per_event, least), most)
    unseen = int(ending.textless and not ending.by_length)
    sure = rest if tokens >= rest + first.events else 0  # fewer tokens than events: somebody cut the text up
    span_s = bursts[-1].t - first.t
    value = max(sure, tokens - guess - unseen) / span_s
    low = max(sure, tokens - most - _unseen_at_most(bursts[-1], ending)) / span_s
    high = (tokens - least) / span_s
    if value <= 0:
        return Decode(seed=seed, tokens_per_event=per_event, reason="too few tokens for a rate")
    slack = held_tok / span_s
    interval = max(0.0, min(low, value) - slack), max(high, value) + slack
    return Decode(value, interval, seed, tokens_per_event=per_event)


def _unseen_at_most(last: Burst, ending: Ending) -> int:
    """Tokens that may have come after the last text: a stop token, markup that a parser swallows, half a character."""
    if last.channel == "tool":
        return MARKUP_TOK
    if ending.by_length:
        return CUT_CHARACTER_TOK if ending.textless else 0
    return 1
