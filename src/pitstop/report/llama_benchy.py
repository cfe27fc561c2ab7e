"""A run in the JSON form of llama-benchy 0.4.0, for tools that read that one.

Its form knows no status, so only `ok` figures are written. Where the two tools mean different things by a word, nothing
is written: its `tg_throughput` of several streams leaves prefill out, the ruler `concurrency` includes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import fmean, median, pstdev

import msgspec

from pitstop.core.documents import Figure, RunDocument, Status
from pitstop.report.numbers import finite, summable

_MS = 1000.0


class Metric(msgspec.Struct, frozen=True):
    """Mean, population standard deviation, and the values; rates in tok/s, times in ms."""

    mean: float
    std: float
    values: list[float]


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One row. Its names are llama-benchy's; what pitstop does not measure in that sense is null."""

    concurrency: int
    context_size: int
    prompt_size: int
    response_size: int
    is_context_prefill_phase: bool = False
    pp_throughput: Metric | None = None
    pp_req_throughput: Metric | None = None
    tg_throughput: Metric | None = None
    tg_req_throughput: Metric | None = None
    peak_throughput: Metric | None = None
    peak_req_throughput: Metric | None = None
    ttfr: Metric | None = None
    est_ppt: Metric | None = None
    e2e_ttft: Metric | None = None
    throughput_over_time: None = None
    requests_throughput_over_time: None = None


class BenchyReport(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    timestamp: str
    model: str
    benchmarks: list[Benchmark]
    latency_mode: str = "none"  # nothing is subtracted from a time
    latency_ms: float = 0.0
    prefix_caching_enabled: bool = False  # every prompt has its own nonce
    max_concurrency: int = 1


def benchy_report(run: RunDocument) -> BenchyReport:
    """Decode and prefill of a run, one row per case."""
    return BenchyReport(
        version=f"{run.tool.get('name', 'pitstop')} {run.tool.get('version', '')}".strip(),
        timestamp=run.started_at,
        model=run.engine.model,
        benchmarks=list(_benchmarks(run)),
    )


def _benchmarks(run: RunDocument) -> Iterator[Benchmark]:
    cases = dict.fromkeys((f.ruler, f.case) for f in run.figures if f.ruler in ("prefill", "decode"))
    for ruler, case in cases:
        rate = _metric(run, (ruler, case, f"{ruler}_tok_s"))
        if rate is None:
            continue
        size = re.fullmatch(r"pp(\d{1,12})", case)
        measured = _typical(run, ruler, case, "prompt_tokens")
        yield Benchmark(
            concurrency=1,
            context_size=0,
            prompt_size=int(size[1]) if size else measured,
            response_size=_typical(run, ruler, case, "completion_tokens") or (1 if ruler == "prefill" else 0),
            pp_throughput=rate if ruler == "prefill" else None,
            pp_req_throughput=rate if ruler == "prefill" else None,
            tg_throughput=rate if ruler == "decode" else None,
            tg_req_throughput=rate if ruler == "decode" else None,
            ttfr=_metric(run, (ruler, case, "ttfr_s"), _MS),
            e2e_ttft=_metric(run, (ruler, case, "ttft_s"), _MS),
        )


def _metric(run: RunDocument, key: tuple[str, str, str], factor: float = 1.0) -> Metric | None:
    found = (f for f in run.figures if (f.ruler, f.case, f.metric) == key and f.status is Status.OK)
    values = [value * factor for figure in found for value in _samples(figure)]
    return Metric(fmean(values), pstdev(values), values) if values else None


def _samples(figure: Figure) -> Sequence[float]:
    return summable(figure.samples or (figure.value,))


def _typical(run: RunDocument, ruler: str, case: str, field: str) -> int:
    """The median count of the good requests of a case; 0, as llama-benchy writes it, where none is known."""
    requests = [request for request in run.requests if (request.ruler, request.case) == (ruler, case) and request.ok]
    known = finite(getattr(request, field) for request in requests)
    return int(median(known)) if known else 0
