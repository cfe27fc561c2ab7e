"""The documents that others read: run and trial. Field names never change meaning without a version bump.

Times are ISO 8601 in UTC, `_s` are seconds, `_bytes` bytes, counts are whole; None means "not known", never zero.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from pitstop import __version__
from pitstop.core.encoding import encoded


class Status(StrEnum):
    """What a figure is worth."""

    OK = "ok"
    UNVERIFIED = "unverified"  # measured, but a part that would prove it is missing or disagrees
    INVALID = "invalid"  # measured on the wrong thing; the number must not be quoted
    UNAVAILABLE = "unavailable"  # could not be measured here; the reason says why


class Verdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a ruler. `case` tells what of: `prose/en/think-off`, `pp8000`, `c8`."""

    ruler: str
    case: str
    metric: str
    unit: str
    value: float | None
    status: Status
    source: str  # where the tokens were counted and the times were taken
    reason: str = ""  # empty when ok
    n: int = 0
    samples: tuple[float, ...] = ()
    interval: tuple[float, float] | None = None  # what the value may truly be, given how it was counted
    detail: dict[str, Any] = {}  # parts that explain the value: estimator, tokens per event, share of the ceiling


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One request as the server accounted for it. A failed one has `ok` false, an `error`, and enters no average."""

    ruler: str
    case: str
    ok: bool
    error: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    events: int = 0  # events that carried generated tokens
    first_event_tokens: int | None = None  # known only with per-event counts
    tokens_source: str = ""  # usage | usage+continuous | usage+timings | none
    ttfr_s: float | None = None  # first byte of the reply's body
    ttft_s: float | None = None  # first generated token of any channel
    ttfa_s: float | None = None  # first token of the answer
    last_token_s: float | None = None
    e2e_s: float | None = None
    decode_tok_s: float | None = None
    finish_reason: str | None = None
    text_bytes: int = 0
    first_event_bytes: int = 0
    anomalies: tuple[str, ...] = ()


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at one task of the quality ruler, with its transcript; long texts keep their beginning and end."""

    task: str  # kind/language/name, as in `math/en/discount`
    level: str  # easy | medium | hard
    repeat: int  # from zero
    outcome: (
        str  # right | wrong | cut-off | empty | wrong-language | refused | malformed-tool-call | failed | unavailable
    )
    wanted: str = ""  # the right answer, shortened
    got: str = ""  # what was taken for the answer
    reason: str = ""  # why it is not right
    prompt: str = ""
    reasoning: str = ""
    answer: str = ""
    reply_digest: str = ""  # over reasoning, answer and tool calls: equal ones are one draw, not two
    completion_tokens: int | None = None
    e2e_s: float | None = None
    grading_s: float | None = None


class EngineIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which engine answered. Compared before and after each ruler."""

    kind: str
    model: str
    version: str | None = None
    version_source: str = "unavailable"  # /version, /props, exec: …, metrics
    image_digest: str | None = None
    container_id: str | None = None
    pid: int | None = None
    started_at: str | None = None
    fingerprint: str | None = None  # of the launch value; None when pitstop did not launch it


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    text: str


class RunDocument(msgspec.Struct, kw_only=True):
    """One boot of one engine measured by some rulers."""

    id: str
    started_at: str
    engine: EngineIdentity
    schema: str = "pitstop.run"
    version: int = 1
    tool: dict[str, str] = msgspec.field(default_factory=lambda: {"name": "pitstop", "version": __version__})
    host: dict[str, Any] = {}
    conditions: dict[str, Any] = {}
    settings: dict[str, Any] = {}  # what was asked for: rulers, runs, max_tokens, pp, prompts' hash
    figures: list[Figure] = []
    requests: list[RequestRecord] = []
    warnings: list[Notice] = []
    tasks: list[TaskRecord] = []  # of the quality ruler


class ArmRecord(msgspec.Struct, kw_only=True):
    """All boots of one arm. `incidents` are results of the arm: failed boots, guard stops, refused requests."""

    name: str
    overrides: dict[str, str]
    fingerprint: str
    runs: list[RunDocument] = []
    incidents: list[dict[str, Any]] = []


class VerdictRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one variant against production; ratios are variant over production."""

    arm: str
    ruler: str
    case: str
    metric: str
    verdict: Verdict
    primary: bool
    ratio: float | None
    interval: tuple[float, float] | None
    minimum_effect: float  # as a fraction: 0.03
    noise_floor: float | None  # as a fraction; None when nothing is known of this box's boot-to-boot noise
    blocks: int
    reason: str
    p_value: float | None = None
    blocks_to_decide: int | None = None


class ProductionRecord(msgspec.Struct, kw_only=True):
    engine: str
    fingerprint_before: str
    fingerprint_after: str | None = None
    restored: bool = False
    proved_by: str = ""  # the generated token, and when
    downtime_s: float | None = None


class TrialDocument(msgspec.Struct, kw_only=True):
    id: str
    name: str
    state: str
    started_at: str
    production: ProductionRecord
    schema: str = "pitstop.trial"
    version: int = 1
    finished_at: str | None = None
    plan: dict[str, Any] = {}
    arms: list[ArmRecord] = []
    verdicts: list[VerdictRecord] = []
    log: list[dict[str, Any]] = []
    warnings: list[Notice] = []


def encode(document: Any) -> bytes:
    """A document as indented JSON with a final newline; sizes are bytes, durations seconds, shares fractions."""
    return msgspec.json.format(encoded(document, _plain_number), indent=2) + b"\n"


def _plain_number(value: Any) -> Any:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(f"{type(value).__name__} has no place in a document")
