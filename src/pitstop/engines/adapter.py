"""What every engine kind answers about itself, in one vocabulary.

None always means "this server does not say", never zero: an absent counter must not look like a quiet one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pitstop.client.endpoint import Endpoint
from pitstop.core.documents import EngineIdentity


class Readiness(StrEnum):
    READY = "ready"  # answers, and lists the model
    LOADING = "loading"  # answers that it is not ready yet
    UNREACHABLE = "unreachable"  # nothing listens, or nothing answers in time
    WRONG_MODEL = "wrong-model"  # answers, without the model that was asked for
    REFUSED = "refused"  # 401 or 403: the key is wrong or missing


@dataclass(frozen=True)
class ReadinessReport:
    readiness: Readiness
    detail: str = ""
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counters:
    """One reading of a server's counters for one model, summed over its engines. Gauges are not summed twice.

    Counts since the process started, unless a gauge. `kv_cache_usage` is a fraction of one.
    """

    requests_running: int | None = None  # gauge
    requests_waiting: int | None = None  # gauge
    requests_finished: int | None = None
    prompt_tokens: int | None = None
    generation_tokens: int | None = None
    prefix_queries_tok: int | None = None
    prefix_hits_tok: int | None = None
    drafts: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    accepted_per_position: tuple[int, ...] | None = None
    kv_cache_usage: float | None = None  # gauge
    preemptions: int | None = None
    process_start_s: float | None = None  # seconds since the epoch


@dataclass(frozen=True)
class Capabilities:
    """What this server was seen to do. Asked of it, not assumed from its kind."""

    metrics: bool = False
    continuous_usage: bool | None = None  # None until a stream was tried
    stream_options: bool | None = None
    per_event_timings: bool = False  # llama.cpp's timings_per_token
    context_tok: int | None = None
    cache_block_tok: int | None = None  # size of one block of the prefix cache
    thinking_budget: bool | None = None


class Adapter(Protocol):
    """One engine kind. Every method is bounded by `deadline_s` and raises only PitstopError."""

    kind: str

    async def identity(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> EngineIdentity: ...

    async def readiness(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> ReadinessReport: ...

    async def counters(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> Counters | None: ...

    async def capabilities(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> Capabilities: ...
