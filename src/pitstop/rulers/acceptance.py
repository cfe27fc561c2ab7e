"""Acceptance of drafted tokens over some requests: from counters, after minus before, or from llama.cpp's replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pitstop.client.chat import Reply
from pitstop.client.http import parse_json
from pitstop.client.sse import parse_events
from pitstop.core.documents import Figure
from pitstop.engines.acceptance import Acceptance, acceptance, acceptance_of_replies
from pitstop.engines.adapter import Counters
from pitstop.rulers.figures import Measured

NOT_TOLD = "the server shows no speculation: it does not speculate, or does not say"


def acceptance_over(replies: Sequence[Reply], delta: Counters) -> tuple[Acceptance, str]:
    """What was accepted during these requests, and where that is from. Counters see other people's requests too."""
    counted = acceptance(delta)
    if counted.known:
        return counted, "server counters, after minus before"
    drafted, accepted = (sum(counts) for counts in zip(*map(_drafts, replies), strict=True)) if replies else (0, 0)
    if drafted:
        return acceptance_of_replies(drafted, accepted), "timings of the replies"
    return Acceptance(), "none"


def acceptance_figures(measured: Measured, found: Acceptance, source: str) -> list[Figure]:
    """acceptance_rate and acceptance_length, each with its estimator; unavailable where nothing is known."""
    if not found.known:
        return [measured.unavailable(metric, NOT_TOLD) for metric in ("acceptance_rate", "acceptance_length")]
    doubts = (f"the server's counters disagree: {found.disagreement}",) if found.disagreement else ()
    positions = {} if found.per_position is None else {"per_position": list(found.per_position)}
    rate = {"estimator": found.rate_estimator, "counted_by": source, **positions}
    length = {"estimator": found.length_estimator, "counted_by": source}
    return [
        measured.figure("acceptance_rate", _known(found.rate), doubts=doubts, missing=NOT_TOLD, detail=rate),
        measured.figure("acceptance_length", _known(found.length), doubts=doubts, missing=NOT_TOLD, detail=length),
    ]


def _known(value: float | None) -> list[float]:
    return [] if value is None else [value]


def _drafts(reply: Reply) -> tuple[int, int]:
    """llama.cpp's `timings.draft_n` and `draft_n_accepted`: cumulative within a reply, so the largest counts."""
    drafted, accepted = 0, 0
    for event in parse_events(reply.exchange.body).events:
        if b'"draft_n"' not in event.data:
            continue
        timings = _timings(event.data)
        drafted = max(drafted, _count(timings.get("draft_n")))
        accepted = max(accepted, _count(timings.get("draft_n_accepted")))
    return drafted, min(accepted, drafted)


def _timings(data: bytes) -> dict[str, Any]:
    try:
        parsed = parse_json(data)
    except ValueError:
        return {}
    timings = parsed.get("timings") if isinstance(parsed, dict) else None
    return timings if isinstance(timings, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
