"""The figures of requests that had the server to themselves: decode rate, times to the first token, tokens an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pitstop.client.chat import Reply
from pitstop.core.documents import Figure, RequestRecord
from pitstop.rulers.figures import Measured, failure_reason, partial_failure, why_uncounted
from pitstop.rulers.integrity import doubts_of_replies
from pitstop.rulers.lateness import decode_lateness, first_token_lateness

# From here on the time between two events is not that between two tokens (field reports: 2 to 5 with speculation).
_SEVERAL_TOK_PER_EVENT = 1.2
NOT_BEGUN = "no reply carried a generated token"
NOT_ANSWERED = "no reply got as far as an answer"


@dataclass(frozen=True)
class SingleStream:
    """The replies to one case, sent one after the other."""

    measured: Measured
    replies: Sequence[Reply]

    def figures(self) -> list[Figure]:
        """Decode, its seed form, end-to-end rate, times, tokens an event. All unavailable when every request failed."""
        if not self._good:
            reason = failure_reason([reply.record for reply in self.replies])
            return [self.measured.unavailable(metric, reason) for metric in ("decode_tok_s", "ttft_s")]
        return replace(self, measured=self._doubted())._of_good()

    def _of_good(self) -> list[Figure]:
        return [
            self._decode(),
            self._seed(),
            self._of("throughput_tok_s", _end_to_end, doubts=self._doubts, missing=self._uncounted),
            self._of("tokens_per_event", _tokens_per_event, doubts=self._doubts, missing=self._uncounted),
            self._of("ttfr_s", lambda record: record.ttfr_s, doubts=self._time_doubts),
            self._of("ttft_s", lambda record: record.ttft_s, doubts=self._time_doubts, missing=NOT_BEGUN),
            self._of("ttfa_s", lambda record: record.ttfa_s, doubts=self._time_doubts, missing=NOT_ANSWERED),
        ]

    def _doubted(self) -> Measured:
        some_failed = partial_failure([reply.record for reply in self.replies])
        return replace(self.measured, doubts=(*self.measured.doubts, *some_failed))

    @property
    def _uncounted(self) -> str:
        return why_uncounted([reply.record for reply in self._good])

    @property
    def _good(self) -> list[Reply]:
        return [reply for reply in self.replies if reply.ok]

    @property
    def _doubts(self) -> tuple[str, ...]:
        return doubts_of_replies([reply.record for reply in self._good])

    @property
    def _time_doubts(self) -> tuple[str, ...]:
        return first_token_lateness(self._good)

    def _decode(self) -> Figure:
        rates = [reply.decode for reply in self._good if reply.decode.value is not None]
        return self.measured.figure(
            "decode_tok_s",
            [rate.value for rate in rates if rate.value is not None],
            bounds=[rate.interval for rate in rates if rate.interval is not None],
            doubts=(*self._doubts, *decode_lateness(self._good), *self._some_without(len(rates))),
            missing=self._why_no_decode(),
            detail=self._event_detail(),
        )

    def _seed(self) -> Figure:
        seeds = [reply.decode.seed for reply in self._good if reply.decode.value is not None]
        known = [seed for seed in seeds if seed is not None]
        detail = {"formula": "(tokens - 1) / (time of the last token event - time of the first)"}
        missing, doubts = self._why_no_decode(), (*self._doubts, *decode_lateness(self._good))
        return self.measured.figure("decode_tok_s_seed", known, doubts=doubts, missing=missing, detail=detail)

    def _some_without(self, with_rate: int) -> tuple[str, ...]:
        lacking = len(self._good) - with_rate
        return (f"{lacking} of {len(self._good)} replies: {self._why_no_decode()}",) if lacking and with_rate else ()

    def _of(
        self,
        metric: str,
        value: Callable[[RequestRecord], float | None],
        *,
        doubts: Sequence[str] = (),
        missing: str = "no reply gave this time",
    ) -> Figure:
        values = [value(reply.record) for reply in self._good]
        return self.measured.figure(metric, [v for v in values if v is not None], doubts=doubts, missing=missing)

    def _why_no_decode(self) -> str:
        reasons = [reply.decode.reason for reply in self._good if reply.decode.value is None]
        return " | ".join(dict.fromkeys(reason for reason in reasons if reason)) or self._uncounted

    def _event_detail(self) -> dict[str, object]:
        ratios = [ratio for reply in self._good if (ratio := _tokens_per_event(reply.record)) is not None]
        if not ratios or max(ratios) <= _SEVERAL_TOK_PER_EVENT:
            return {}
        return {"note": "events carry several tokens: times between events are not times between tokens"}


def _end_to_end(record: RequestRecord) -> float | None:
    if not record.completion_tokens or not record.e2e_s:
        return None
    return record.completion_tokens / record.e2e_s


def _tokens_per_event(record: RequestRecord) -> float | None:
    if not record.completion_tokens or not record.events:
        return None
    return record.completion_tokens / record.events
