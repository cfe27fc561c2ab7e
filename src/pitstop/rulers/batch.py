"""N streams at once: total tokens over total time, prefill included, and what each stream saw of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pitstop.client.chat import Reply
from pitstop.core.documents import Figure
from pitstop.rulers.figures import Measured, failure_reason, partial_failure, why_uncounted
from pitstop.rulers.integrity import doubts_of_replies
from pitstop.rulers.lateness import decode_lateness, first_token_lateness
from pitstop.rulers.saturation import Level
from pitstop.stats.summary import median, quantile

METRICS = ("throughput_tok_s", "ttft_s", "ttft_p95_s", "decode_tok_s")


@dataclass(frozen=True)
class Batch:
    """The replies to requests that were sent together."""

    replies: Sequence[Reply]

    @property
    def whole(self) -> bool:
        """Whether every stream ended well: throughput with a stream missing is that of another load."""
        return bool(self.replies) and all(reply.ok for reply in self.replies)

    @property
    def throughput_tok_s(self) -> float | None:
        """All generated tokens over the time from the first request sent to the last reply ended."""
        tokens = [reply.record.completion_tokens for reply in self.replies]
        if not self.whole or None in tokens:
            return None
        begins = [reply.exchange.sent_at or 0.0 for reply in self.replies]
        ends = [begin + (reply.record.e2e_s or 0.0) for begin, reply in zip(begins, self.replies, strict=True)]
        total_s = max(ends) - min(begins)
        return sum(count or 0 for count in tokens) / total_s if total_s > 0 else None

    def ttft_s(self, share: float) -> float | None:
        """The `share` quantile of the streams' times to the first token."""
        return quantile([r.record.ttft_s for r in self.replies if r.ok and r.record.ttft_s is not None], share)

    @property
    def decode_tok_s(self) -> float | None:
        """The median of the streams' own decode rates."""
        return median([r.decode.value for r in self.replies if r.ok and r.decode.value is not None])


@dataclass(frozen=True)
class Batches:
    """The runs of one level."""

    streams: int
    runs: Sequence[Batch]

    @property
    def replies(self) -> list[Reply]:
        return [reply for run in self.runs for reply in run.replies]

    @property
    def level(self) -> Level:
        failed = [reply.record.error for reply in self.replies if not reply.ok]
        throughput = median([run.throughput_tok_s for run in self.runs if run.throughput_tok_s is not None])
        ttft = median([value for run in self.runs if (value := run.ttft_s(0.95)) is not None])
        return Level(self.streams, throughput, ttft, len(failed), failed[0] if failed else "")

    def figures(self, measured: Measured) -> list[Figure]:
        """Throughput, TTFT (median and 95th percentile) and per-stream decode, one sample a run."""
        records = [reply.record for reply in self.replies]
        measured = replace(measured, doubts=(*measured.doubts, *partial_failure(records)))
        whole = [run for run in self.runs if run.whole]
        if not whole:
            reason = failure_reason(records)
            return [measured.unavailable(metric, reason) for metric in METRICS]
        replies = [reply for run in whole for reply in run.replies]
        counts, late = doubts_of_replies([reply.record for reply in replies]), first_token_lateness(replies)
        rates, decode_late = [run.decode_tok_s for run in whole], decode_lateness(replies)
        uncounted = why_uncounted([reply.record for reply in replies])
        bare = next((reply.decode.reason for reply in replies if reply.decode.reason), uncounted)
        return [
            measured.figure(
                "throughput_tok_s", _known([run.throughput_tok_s for run in whole]), doubts=counts, missing=uncounted
            ),
            measured.figure("ttft_s", _known([run.ttft_s(0.5) for run in whole]), doubts=late),
            measured.figure("ttft_p95_s", _known([run.ttft_s(0.95) for run in whole]), doubts=late),
            measured.figure("decode_tok_s", _known(rates), doubts=(*counts, *decode_late), missing=bare),
        ]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
