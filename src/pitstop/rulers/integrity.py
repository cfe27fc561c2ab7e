"""Usage, per-event counts, server counters and text, held against each other.

Each check returns sentences with the numbers; an empty tuple means that nothing contradicts the count. What speculation
explains is no disagreement: an event may carry many tokens, so fewer events than tokens prove nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.core.documents import RequestRecord
from pitstop.engines.adapter import Counters

# A channel marker or an end-of-turn token has no text; a reply has a handful of them, never more.
SILENT_TOK = 16
# Bytes of text a token: German, English and code come to 2.5 to 6; at twice the upper end tokens were missed.
MOST_BYTES_PER_TOK = 12
_TOO_SHORT_TO_JUDGE_TOK = 16
_COUNTER_TOLERANCE = 0.02


def doubts_of_reply(record: RequestRecord, max_tokens: int) -> tuple[str, ...]:
    """What in one reply's own accounting cannot be true."""
    tokens = record.completion_tokens
    if not record.ok or tokens is None:
        return ()
    found = (
        _beyond_limit(tokens, max_tokens),
        _reasoning_beyond(record, tokens),
        _fewer_than_events(record, tokens),
        _text_too_short(record, tokens),
        _text_too_long(record, tokens),
    )
    return tuple(sentence for sentence in found if sentence)


def doubts_of_replies(records: Sequence[RequestRecord], max_tokens: int) -> tuple[str, ...]:
    """The distinct doubts of several replies, in the order in which they came up."""
    return tuple(dict.fromkeys(doubt for record in records for doubt in doubts_of_reply(record, max_tokens)))


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


def _claimed(records: Sequence[RequestRecord]) -> int | None:
    if not records or any(not record.ok or record.completion_tokens is None for record in records):
        return None
    return sum(record.completion_tokens or 0 for record in records)


def _agree(claimed: int, counted: int, requests: int) -> bool:
    # Servers differ in whether the token that ends a reply is counted, hence one token a request.
    return abs(counted - claimed) <= max(requests, _COUNTER_TOLERANCE * claimed)


def _beyond_limit(tokens: int, max_tokens: int) -> str:
    if tokens <= max_tokens + 1:
        return ""
    return f"the server claims {tokens} tokens where at most {max_tokens} were allowed"


def _reasoning_beyond(record: RequestRecord, tokens: int) -> str:
    reasoning = record.reasoning_tokens
    if reasoning is None or reasoning <= tokens:
        return ""
    return f"the server claims {reasoning} reasoning tokens among {tokens} tokens"


def _fewer_than_events(record: RequestRecord, tokens: int) -> str:
    if record.events <= tokens + 1:
        return ""
    return f"{record.events} events carried text, but the server claims {tokens} tokens only"


def _text_too_short(record: RequestRecord, tokens: int) -> str:
    if tokens - SILENT_TOK <= record.text_bytes:
        return ""
    return f"the server claims {tokens} tokens for {record.text_bytes} bytes of text"


def _text_too_long(record: RequestRecord, tokens: int) -> str:
    if tokens < _TOO_SHORT_TO_JUDGE_TOK or record.text_bytes <= MOST_BYTES_PER_TOK * tokens:
        return ""
    return f"the server claims {tokens} tokens only for {record.text_bytes} bytes of text"
