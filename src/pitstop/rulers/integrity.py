"""Usage, per-event counts, server counters and text, held against each other.

Each check returns sentences with the numbers; an empty tuple means that nothing contradicts the count. What speculation
explains is no disagreement: an event may carry many tokens, so fewer events than tokens prove nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.core.documents import RequestRecord
from pitstop.engines.adapter import Counters

# What the client notes about a reply (`RequestRecord.anomalies`) that makes its counts doubtful. The rest, such as a
# keep-alive sent as data, is odd and harmless.
DOUBTFUL = (
    "usage-implausible",
    "usage-total-disagrees",
    "usage-fell",
    "events-exceed-tokens",
    "reasoning-exceeds-completion",
    "per-event-counts-unusable",
)
# Bytes of text a token: German, English and code come to 2.5 to 6; at twice the upper end tokens were missed.
MOST_BYTES_PER_TOK = 12
MOST_TEMPLATE_TOK = 200  # gpt-oss's opens with about 70; more than the bytes of the text beyond it is no count
_TOO_SHORT_TO_JUDGE_TOK = 16
_COUNTER_TOLERANCE = 0.02


def doubts_of_reply(record: RequestRecord) -> tuple[str, ...]:
    """What in one reply's own accounting cannot be true."""
    if not record.ok:
        return ()
    told = [text for text in record.anomalies if text.startswith(DOUBTFUL)]
    return tuple(dict.fromkeys((*told, *_text_too_long(record))))


def doubts_of_replies(records: Sequence[RequestRecord]) -> tuple[str, ...]:
    """The distinct doubts of several replies, in the order in which they came up."""
    return tuple(dict.fromkeys(doubt for record in records for doubt in doubts_of_reply(record)))


def doubts_of_counters(records: Sequence[RequestRecord], done: Counters) -> tuple[str, ...]:
    """Whether the server's counters (`since`) saw the tokens that its replies claimed.

    `records` are all requests between the two readings. With a failed one among them nothing can be concluded, since
    what it generated before it failed is not known. More than was claimed may be another client's; when the server
    counted as many requests as were sent, it is the claims that are short.
    """
    claimed = _claimed(records)
    counted = done.generation_tokens
    if claimed is None or counted is None or _agree(claimed, counted, len(records)):
        return ()
    if counted < claimed:
        return (f"the replies claim {claimed} tokens, the server's counter went up by {counted} only",)
    if done.requests_finished is not None and done.requests_finished <= len(records):
        return (f"the replies claim {claimed} tokens, the server counted {counted} for the same requests",)
    return (f"the server generated {counted} tokens meanwhile, of which {claimed} are ours: somebody else used it",)


def doubts_of_prompt(record: RequestRecord, done: Counters, sent_bytes: int) -> tuple[str, ...]:
    """Whether one prompt can have as many tokens as its reply says: by the server's counter over it, and by its text.

    A server may count what it took from its cache or not.
    """
    claimed, counted = record.prompt_tokens, done.prompt_tokens
    if not record.ok or claimed is None:
        return ()
    if claimed > sent_bytes + MOST_TEMPLATE_TOK:
        return (f"the reply counts {claimed} prompt tokens for {sent_bytes} bytes of text",)
    tolerance = max(1.0, _COUNTER_TOLERANCE * claimed)
    if counted is None or claimed - (record.cached_tokens or 0) - tolerance <= counted <= claimed + tolerance:
        return ()
    told = f"the reply counts {claimed} prompt tokens, the server's counter went up by {counted}"
    others = counted > claimed and (done.requests_finished is None or done.requests_finished > 1)
    return (f"{told}: somebody else used it" if others else told,)


def _claimed(records: Sequence[RequestRecord]) -> int | None:
    if not records or any(not record.ok or record.completion_tokens is None for record in records):
        return None
    return sum(record.completion_tokens or 0 for record in records)


def _agree(claimed: int, counted: int, requests: int) -> bool:
    # Servers differ in whether the token that ends a reply is counted, hence one token a request.
    return abs(counted - claimed) <= max(requests, _COUNTER_TOLERANCE * claimed)


def _text_too_long(record: RequestRecord) -> tuple[str, ...]:
    tokens = record.completion_tokens
    if tokens is None or tokens < _TOO_SHORT_TO_JUDGE_TOK or record.text_bytes <= MOST_BYTES_PER_TOK * tokens:
        return ()
    return (f"usage-implausible: {tokens} tokens only for {record.text_bytes} bytes of text",)
