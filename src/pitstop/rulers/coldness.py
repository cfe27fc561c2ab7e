"""Whether a prompt was really computed, and not served from a prefix cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pitstop.core.documents import RequestRecord, Status
from pitstop.engines.adapter import Counters

# vLLM's and SGLang's usual block. A server that caches token by token (llama.cpp) always finds the few tokens with
# which the chat template opens, so a smaller block gives no stricter limit.
USUAL_BLOCK_TOK = 16
MOST_CACHED_SHARE = 0.02  # what sizes are calibrated to: a larger cached part would be seen in the figure


@dataclass(frozen=True)
class Coldness:
    """`cached_tok` is what the server itself says; None when it says nothing."""

    status: Status
    reason: str = ""
    cached_tok: int | None = None
    evidence: str = ""  # cached_tokens | prefix counters


def judge(record: RequestRecord, delta: Counters, block_tok: int | None) -> Coldness:
    """One request, with the server's counters over just this request (`since`)."""
    block = max(block_tok or 0, USUAL_BLOCK_TOK)
    if record.cached_tokens is not None:
        return _held_against(delta, _judged(record, record.cached_tokens, block, "cached_tokens"), block)
    if delta.prefix_hits_tok is None:
        reason = "the server says nothing of its prefix cache (no cached_tokens, no counters): not proved cold"
        return Coldness(Status.UNVERIFIED, reason)
    verdict = _judged(record, delta.prefix_hits_tok, block, "prefix counters")
    return _perhaps_somebody_else(record, delta, verdict)


def worst(verdicts: Sequence[Coldness]) -> Coldness:
    """One warm request makes the figure warm; one unproved one leaves it unproved. ValueError for none."""
    order = (Status.INVALID, Status.UNVERIFIED, Status.OK)
    return min(verdicts, key=lambda verdict: (order.index(verdict.status), -(verdict.cached_tok or 0)))


def _judged(record: RequestRecord, cached: int, block: int, evidence: str) -> Coldness:
    told = f"{cached} of {record.prompt_tokens} prompt tokens came from the cache ({evidence})"
    if cached > block:
        return Coldness(Status.INVALID, f"{told}, more than one block of {block}", cached, evidence)
    if cached > MOST_CACHED_SHARE * (record.prompt_tokens or 0):
        return Coldness(Status.UNVERIFIED, told, cached, evidence)
    return Coldness(Status.OK, "", cached, evidence)


def _held_against(delta: Counters, verdict: Coldness, block: int) -> Coldness:
    """A cache that the reply denies is still a cache; but the counters may also have seen somebody else's request."""
    hits = delta.prefix_hits_tok
    if verdict.status is not Status.OK or hits is None or hits <= block:
        return verdict
    reason = f"the reply says {verdict.cached_tok} cached tokens, the prefix counters went up by {hits}"
    return Coldness(Status.UNVERIFIED, reason, hits, "prefix counters")


def _perhaps_somebody_else(record: RequestRecord, delta: Counters, verdict: Coldness) -> Coldness:
    looked_up = delta.prefix_queries_tok
    if verdict.status is not Status.INVALID or looked_up is None or looked_up <= 1.05 * (record.prompt_tokens or 0):
        return verdict
    reason = f"{verdict.reason}; the counters looked up {looked_up} tokens, so they also saw somebody else's prompt"
    return Coldness(Status.UNVERIFIED, reason, verdict.cached_tok, verdict.evidence)
