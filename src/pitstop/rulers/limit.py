"""Holds decode figures against what the memory can do: the share of it, and a doubt where it is more than all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from pitstop.client.chat import Reply
from pitstop.core.documents import Figure, Status
from pitstop.engines.acceptance import Acceptance
from pitstop.stats.ceiling import ceiling
from pitstop.stats.summary import median

_RATES = frozenset({"decode_tok_s", "decode_tok_s_seed"})
_SEVERAL_TOK_PER_EVENT = 1.2  # below it an event is a step, and a step one token


@dataclass(frozen=True)
class Reads:
    """What one step reads of a memory: `active_bytes` of weights at `bandwidth_bytes_s`; `source` says whence."""

    bandwidth_bytes_s: float
    active_bytes: int
    source: str


def held_against(
    reads: Reads | None, figures: Sequence[Figure], replies: Sequence[Reply], accepted: Acceptance
) -> list[Figure]:
    """The figures; of decode rates with `limit_tok_s` and `share_of_limit` in their detail, where they can be known.

    Under speculation a step gives as many tokens as were accepted on average, by the counters; where these say nothing
    and events carry several tokens, as many as an event carried.
    """
    if reads is None:
        return list(figures)
    length, estimator = _tok_per_step(replies, accepted)
    return [_held(reads, figure, length, estimator) if figure.metric in _RATES else figure for figure in figures]


def _tok_per_step(replies: Sequence[Reply], accepted: Acceptance) -> tuple[float, str]:
    if accepted.length is not None:
        return accepted.length, f"tokens a step: {accepted.length_estimator}"
    counted = [r.record for r in replies if r.ok and r.record.completion_tokens and r.record.events]
    per_event = median([(record.completion_tokens or 0) / record.events for record in counted]) or 1.0
    if per_event <= _SEVERAL_TOK_PER_EVENT:
        return 1.0, "tokens a step: one, for no speculation is seen"
    return per_event, "tokens a step: as many as an event carried"


def _held(reads: Reads, figure: Figure, length: float, estimator: str) -> Figure:
    limit = ceiling(reads.bandwidth_bytes_s, reads.active_bytes, length)
    if limit is None or figure.value is None:
        return figure
    least = figure.interval[0] if figure.interval else figure.value  # what it is at least, however it was counted
    detail = {
        "limit_tok_s": limit.tok_s,
        "share_of_limit": limit.share(figure.value),
        "limit_from": f"{limit.inputs} ({reads.source}; {estimator})",
    }
    held = msgspec.structs.replace(figure, detail={**figure.detail, **detail})
    return _doubted(held, limit.doubt(least))


def _doubted(figure: Figure, doubt: str) -> Figure:
    if not doubt:
        return figure
    status = Status.UNVERIFIED if figure.status is Status.OK else figure.status
    return msgspec.structs.replace(figure, status=status, reason="; ".join(filter(None, (figure.reason, doubt))))
