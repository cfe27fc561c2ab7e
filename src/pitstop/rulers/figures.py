"""Figures out of samples: the median, every sample kept, doubts spelled out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pitstop.client.doubts import UNUSABLE
from pitstop.core.documents import Figure, RequestRecord, Status
from pitstop.stats.summary import median

Bounds = tuple[float, float]

UNITS = {
    "decode_tok_s": "tok/s",
    "decode_tok_s_seed": "tok/s",
    "prefill_tok_s": "tok/s",
    "throughput_tok_s": "tok/s",
    "ttfr_s": "s",
    "ttft_s": "s",
    "ttft_p95_s": "s",
    "ttfa_s": "s",
    "e2e_s": "s",
    "tokens_per_event": "tok/event",
    "acceptance_rate": "fraction",
    "acceptance_length": "tok/step",
    "retention": "fraction",
}


@dataclass(frozen=True)
class Measured:
    """What is known of one case of one ruler; makes its figures."""

    ruler: str
    case: str
    source: str  # where the tokens were counted and the times were taken
    doubts: tuple[str, ...] = ()  # sentences; any of them makes a figure `unverified`
    detail: dict[str, Any] = field(default_factory=dict)

    def figure(
        self,
        metric: str,
        samples: Sequence[float],
        *,
        bounds: Sequence[Bounds] = (),
        doubts: Sequence[str] = (),
        invalid: str = "",
        detail: dict[str, Any] | None = None,
        unit: str = "",
        missing: str = "no request gave this value",
    ) -> Figure:
        """The median of `samples`; `bounds` says per sample what it may truly be. No samples: `unavailable`."""
        if not samples:
            return self.unavailable(metric, missing, unit=unit, detail=detail)
        told = (*self.doubts, *doubts)
        status = Status.INVALID if invalid else Status.UNVERIFIED if told else Status.OK
        return Figure(
            ruler=self.ruler,
            case=self.case,
            metric=metric,
            unit=unit or UNITS.get(metric, ""),
            value=median(samples),
            status=status,
            source=self.source,
            reason=invalid or "; ".join(dict.fromkeys(told)),
            n=len(samples),
            samples=tuple(samples),
            interval=median_bounds(bounds),
            detail={**self.detail, **(detail or {})},
        )

    def unavailable(self, metric: str, reason: str, *, unit: str = "", detail: dict[str, Any] | None = None) -> Figure:
        return Figure(
            ruler=self.ruler,
            case=self.case,
            metric=metric,
            unit=unit or UNITS.get(metric, ""),
            value=None,
            status=Status.UNAVAILABLE,
            source=self.source,
            reason=reason,
            detail={**self.detail, **(detail or {})},
        )


def asked_otherwise(figure: Figure, how: str) -> Figure:
    """The figure with a mark that the server made us ask otherwise than defined: comparable to its like only."""
    return msgspec.structs.replace(figure, detail={**figure.detail, "request": how})


def median_bounds(bounds: Sequence[Bounds]) -> Bounds | None:
    """Where the median of the true values lies, when each of them lies within its own bounds.

    The median is monotone in every sample, so the medians of the lower and of the upper ends enclose it.
    """
    low, high = median(low for low, _ in bounds), median(high for _, high in bounds)
    return None if low is None or high is None else (low, high)


def partial_failure(records: Sequence[RequestRecord]) -> tuple[str, ...]:
    """The doubt about figures of the requests that went well, where others of the same case failed."""
    failed = any(not record.ok for record in records) and any(record.ok for record in records)
    return (f"{failure_reason(records)}; the others may be a kind selection",) if failed else ()


def why_uncounted(records: Sequence[RequestRecord]) -> str:
    """Why no tokens of these replies are known."""
    unusable = [text for record in records for text in record.anomalies if text.startswith(UNUSABLE)]
    if unusable:
        return f"the server's count of its tokens cannot be used ({unusable[0].removeprefix(f'{UNUSABLE}: ')})"
    if any(record.completion_tokens == 0 for record in records):
        return "the server counted 0 tokens"
    return "the server sent no usage, and tokens are never guessed from events"


def failure_reason(records: Sequence[RequestRecord]) -> str:
    """Why no request of a case can be used, with the first distinct errors."""
    errors = list(dict.fromkeys(record.error or "no reason given" for record in records if not record.ok))
    if not records:
        return "no request was sent"
    if not errors:
        return "no request gave this value"
    return f"{sum(not r.ok for r in records)} of {len(records)} requests failed: " + " | ".join(errors[:3])
