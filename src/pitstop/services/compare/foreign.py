"""Results of other tools. Each figure keeps its tool's definition, so that two tools' numbers are never compared.

Field names as read in llama-benchy 0.4.0 (`schemas/benchmark_report_schema.json`), guidellm 0.8.1
(`GenerativeBenchmarksReport`) and vLLM 0.32.0 (`vllm/benchmarks/serve.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pitstop.core.documents import Figure, Status
from pitstop.core.errors import UsageError


@dataclass(frozen=True)
class Reading:
    tool: str
    model: str
    facts: Mapping[str, str]
    figures: tuple[Figure, ...]
    lengths: Mapping[tuple[str, str], float]


def read(told: dict[str, Any], name: str) -> Reading | None:
    """What another tool told; None when it is no form known here. UsageError names the field that is wrong."""
    for kind, marks, reader in _FORMS:
        if marks <= told.keys():
            try:
                reading: Reading = reader(msgspec.convert(told, kind))
            except (msgspec.ValidationError, RecursionError) as error:
                raise UsageError(f"{name} looks like a result of {kind.tool}, but cannot be read: {error}.") from error
            return reading
    return None


class _Metric(msgspec.Struct):
    mean: float
    values: tuple[float, ...] = ()


class _BenchyRow(msgspec.Struct):
    concurrency: int
    context_size: int
    prompt_size: int
    response_size: int
    is_context_prefill_phase: bool = False
    prompt_id: str | None = None
    pp_throughput: _Metric | None = None
    tg_throughput: _Metric | None = None
    ttfr: _Metric | None = None
    e2e_ttft: _Metric | None = None


class _Benchy(msgspec.Struct):
    tool = "llama-benchy"
    model: str
    latency_mode: str
    benchmarks: list[_BenchyRow]
    prefix_caching_enabled: bool = False
    prompt_source: str | None = None
    dataset_revision: str | None = None


def _of_benchy(report: _Benchy) -> Reading:
    facts = {
        "latency mode": report.latency_mode,
        "prefix caching": str(report.prefix_caching_enabled),
        "prompts": _words(report.prompt_source),
        "revision of the prompts": _words(report.dataset_revision),
    }
    return Reading(report.tool, report.model, facts, tuple(_benchy_figures(report)), {})


def _benchy_figures(report: _Benchy) -> Iterator[Figure]:
    for row in report.benchmarks:
        phase = " context" if row.is_context_prefill_phase else ""
        prompt = f" {row.prompt_id}" if row.prompt_id else ""
        case = f"pp{row.prompt_size} tg{row.response_size} @ d{row.context_size} (c{row.concurrency}){phase}{prompt}"
        for metric, told, scale in (
            ("prefill_tok_s", row.pp_throughput, 1.0),
            ("decode_tok_s", row.tg_throughput, 1.0),
            ("ttfr_s", row.ttfr, 0.001),
            ("ttft_s", row.e2e_ttft, 0.001),
        ):
            if told is not None:
                samples = tuple(value * scale for value in told.values)
                yield _figure(report.tool, case, metric, told.mean * scale, samples)


class _Distribution(msgspec.Struct):
    median: float
    mean: float


class _ByStatus(msgspec.Struct):
    successful: _Distribution | None = None


class _Totals(msgspec.Struct):
    errored: int | None = None
    total: int | None = None


class _GuideMetrics(msgspec.Struct):
    request_totals: _Totals
    prompt_token_count: _ByStatus
    output_token_count: _ByStatus
    time_to_first_token_ms: _ByStatus
    inter_token_latency_ms: _ByStatus
    output_tokens_per_second: _ByStatus
    request_latency: _ByStatus


class _GuideConfig(msgspec.Struct):
    strategy: dict[str, Any]
    prefer_response_metrics: bool | None = None


class _GuideRow(msgspec.Struct):
    config: _GuideConfig
    metrics: _GuideMetrics


class _Guide(msgspec.Struct):
    tool = "guidellm"
    benchmarks: list[_GuideRow]
    config: dict[str, Any] = {}


# What of a strategy says how the load was made; the rest is bookkeeping of one execution.
_STRATEGY = ("type_", "streams", "max_concurrency", "rate", "worker_count")


def _of_guide(report: _Guide) -> Reading:
    counted = {str(row.config.prefer_response_metrics) for row in report.benchmarks}
    facts = {
        "data": _words(report.config.get("data")),
        "tokenizer": _words(report.config.get("processor")),
        "tokens counted by the server": ", ".join(sorted(counted)),
    }
    rows = [(_guide_case(row.config.strategy), row.metrics) for row in report.benchmarks]
    lengths: dict[tuple[str, str], float] = {}
    for case, metrics in rows:
        for part, told in ((case, metrics.prompt_token_count), (f"{case}, replies", metrics.output_token_count)):
            if told.successful is not None:
                lengths[report.tool, part] = told.successful.median
    figures = tuple(figure for case, metrics in rows for figure in _guide_figures(report.tool, case, metrics))
    return Reading(report.tool, _words(report.config.get("model")), facts, figures, lengths)


def _guide_case(strategy: dict[str, Any]) -> str:
    return " ".join(f"{key.strip('_')}={strategy[key]}" for key in _STRATEGY if strategy.get(key) is not None)


def _guide_figures(tool: str, case: str, metrics: _GuideMetrics) -> Iterator[Figure]:
    failed = metrics.request_totals.errored or 0
    doubt = f"{failed} of {metrics.request_totals.total} requests failed" if failed else ""
    if (told := metrics.time_to_first_token_ms.successful) is not None:
        yield _figure(tool, case, "ttft_s", told.median / 1000, doubt=doubt)
    if (told := metrics.inter_token_latency_ms.successful) is not None and told.median:
        yield _figure(tool, case, "decode_tok_s", 1000 / told.median, doubt=doubt)
    if (told := metrics.output_tokens_per_second.successful) is not None:
        yield _figure(tool, case, "throughput_tok_s", told.mean, doubt=doubt)
    if (told := metrics.request_latency.successful) is not None:
        yield _figure(tool, case, "e2e_s", told.median, doubt=doubt)


class _VllmBench(msgspec.Struct):
    tool = "vllm bench serve"
    completed: int
    total_input_tokens: int
    total_output_tokens: int
    output_throughput: float
    failed: int = 0
    model_id: str = ""
    tokenizer_id: str | None = None
    backend: str = ""
    num_prompts: int | None = None
    request_rate: float | str | None = None
    burstiness: float | None = None
    max_concurrency: int | None = None
    median_ttft_ms: float | None = None
    median_tpot_ms: float | None = None
    median_e2el_ms: float | None = None
    ttfts: tuple[float, ...] = ()


def _of_vllm(report: _VllmBench) -> Reading:
    facts = {
        "tokenizer": _words(report.tokenizer_id),
        "backend": report.backend,
        "number of prompts": _words(report.num_prompts),
        "request rate": _words(report.request_rate),
        "burstiness": _words(report.burstiness),
        "maximum concurrency": _words(report.max_concurrency),
    }
    lengths = {}
    if report.completed:
        lengths[report.tool, "prompts"] = report.total_input_tokens / report.completed
        lengths[report.tool, "replies"] = report.total_output_tokens / report.completed
    return Reading(report.tool, report.model_id, facts, tuple(_vllm_figures(report)), lengths)


def _vllm_figures(report: _VllmBench) -> Iterator[Figure]:
    doubt = f"{report.failed} of {report.failed + report.completed} requests failed" if report.failed else ""
    yield _figure(report.tool, "all", "throughput_tok_s", report.output_throughput, doubt=doubt)
    if report.median_ttft_ms is not None:
        yield _figure(report.tool, "all", "ttft_s", report.median_ttft_ms / 1000, report.ttfts, doubt=doubt)
    if report.median_tpot_ms:
        yield _figure(report.tool, "all", "decode_tok_s", 1000 / report.median_tpot_ms, doubt=doubt)
    if report.median_e2el_ms is not None:
        yield _figure(report.tool, "all", "e2e_s", report.median_e2el_ms / 1000, doubt=doubt)


def _figure(
    tool: str, case: str, metric: str, value: float, samples: tuple[float, ...] = (), *, doubt: str = ""
) -> Figure:
    return Figure(
        ruler=tool,
        case=case,
        metric=metric,
        unit="s" if metric.endswith("_s") and not metric.endswith("tok_s") else "tok/s",
        value=value if math.isfinite(value) else None,
        status=Status.UNVERIFIED if doubt else Status.OK,
        source=tool,
        reason=doubt,
        n=len(samples),
        samples=samples,
    )


def _words(value: Any) -> str:
    return "not told" if value is None else value if isinstance(value, str) else json.dumps(value, sort_keys=True)


_FORMS: tuple[tuple[Any, frozenset[str], Any], ...] = (
    (_Benchy, frozenset({"latency_mode", "benchmarks"}), _of_benchy),
    (_Guide, frozenset({"benchmarks", "metadata"}), _of_guide),
    (_VllmBench, frozenset({"total_input_tokens", "request_throughput"}), _of_vllm),
)
