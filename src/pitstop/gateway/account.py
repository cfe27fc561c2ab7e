"""What is remembered of one request: never its content, never a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pitstop.gateway.thinking_budget import Kept
from pitstop.gateway.usage import UNKNOWN, Usage


class Outcome(StrEnum):
    OK = "ok"
    REFUSED = "refused"  # by the gateway: key, limit, overload, bad body, held door
    ENGINE_REFUSED = "engine-refused"  # 4xx of the engine
    ENGINE_FAILED = "engine-failed"  # nobody could answer
    TORN = "torn"  # the stream broke off; the client was told so
    CLIENT_GONE = "client-gone"
    DEFECT = "defect"  # a fault of the gateway itself


@dataclass
class Account:
    """One row. Times in seconds; None is "not known", never zero."""

    request_id: str
    at_s: float  # since the epoch, when the request's head had come
    api: str = ""
    key: str = ""
    route: str = ""  # what was asked for
    answered_by: str = ""  # the route that answered
    engine: str = ""
    stream: bool = False
    status: int = 0
    outcome: Outcome = Outcome.OK
    said_all: bool = False  # the last event has come: clients close at [DONE], before the reply has quite ended
    reason: str = ""
    usage: Usage = UNKNOWN
    ttft_s: float | None = None  # to the first generated token of a stream
    e2e_s: float = 0.0
    held_s: float = 0.0
    failures: list[str] = field(default_factory=list)  # `route: what happened`, in order
    budget: int | None = None  # a thinking budget that the gateway put in
    budget_kept: Kept | None = None

    def line(self) -> str:
        """The log line."""
        usage = self.usage
        tokens = (usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens, usage.cached_tokens)
        shown = "/".join("-" if count is None else str(count) for count in tokens)
        ttft = "-" if self.ttft_s is None else f"{self.ttft_s:.4f}"
        tried = f" failed={'; '.join(self.failures)!r}" if self.failures else ""
        reason = f" reason={self.reason!r}" if self.reason else ""
        return (
            f"request id={self.request_id} api={self.api or '-'} key={self.key or '-'} route={self.route or '-'} "
            f"by={self.answered_by or '-'} engine={self.engine or '-'} stream={int(self.stream)} status={self.status} "
            f"outcome={self.outcome} tokens={shown} ttft={ttft} total={self.e2e_s:.4f} held={self.held_s:.1f}"
            f"{reason}{tried}"
        )
