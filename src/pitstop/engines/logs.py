"""What an engine's start-up log says that no endpoint does. Pure; prefixes, colours, versions and wording may vary.

Of several boots in one log the last one counts, line by line. Sources of the lines are in docs/engines.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

MAX_LINE_CHARS = 4000  # a line past this is a dumped configuration, and none of ours
_BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class StartupFacts:
    """Sizes in bytes, times in seconds; None where the log does not say. Memory is that of one worker."""

    version: str | None = None
    max_model_len: int | None = None
    checkpoint_bytes: int | None = None
    weights_bytes: int | None = None
    weights_load_s: float | None = None
    kv_memory_bytes: int | None = None  # may be negative: vLLM says by how much it does not fit
    kv_cache_tok: int | None = None
    max_concurrency: float | None = None  # requests of `max_concurrency_tok` tokens each
    max_concurrency_tok: int | None = None
    attention_block_tok: int | None = None  # of hybrids, whose pages hold thousands of tokens
    compile_s: float | None = None
    graph_capture_s: float | None = None
    engine_init_s: float | None = None
    ready: bool = False

    @property
    def kv_bytes_per_tok(self) -> float | None:
        """Only of a model whose KV cache is attention alone: for a hybrid the log's tokens count attention only."""
        if not self.kv_memory_bytes or not self.kv_cache_tok or self.attention_block_tok:
            return None
        return self.kv_memory_bytes / self.kv_cache_tok


@dataclass(frozen=True)
class _Line:
    anchor: str  # what the line must hold, looked for before the expression is tried
    pattern: re.Pattern[str]
    facts: Callable[..., dict[str, Any]]
    boots: bool = False  # the first line of a boot: what an earlier one said does not count any more


def parse_startup(lines: Iterable[str]) -> StartupFacts:
    """Read vLLM's and llama.cpp's start-up lines. Never raises on any text."""
    facts: dict[str, Any] = {}
    for raw in lines:
        line = _plain(raw)
        for known in _LINES:
            if known.anchor in line and (match := known.pattern.search(line)):
                facts = ({} if known.boots else facts) | known.facts(*match.groups())
    return StartupFacts(**facts)


def count_cuda_errors(lines: Iterable[str]) -> int:
    """Lines that report an error of CUDA or of a library on it; the line's repetition by each process counts."""
    return sum(1 for raw in lines if _CUDA.search(_plain(raw)))


_CUDA = re.compile(
    r"CUDA error|CUDA out of memory|cudaError[A-Z]|CUDA driver error|CUBLAS_STATUS_(?!SUCCESS)|CUDNN_STATUS_(?!SUCCESS)"
    r"|ggml_cuda\w*: .*(?:error|failed)|illegal memory access|device-side assert",
)


def _plain(raw: str) -> str:
    return _COLOUR.sub("", raw[:MAX_LINE_CHARS])


def _whole(text: str) -> int:
    return int(re.sub(r"[,._\s']", "", text))


def _sized(number: str, unit: str) -> int:
    return round(float(number) * _BYTES[unit.upper()])


def _line(anchor: str, pattern: str, facts: Callable[..., dict[str, Any]], *, boots: bool = False) -> _Line:
    return _Line(anchor, re.compile(pattern), facts, boots)


_COUNT = r"(\d[\d,]{0,20})"
_NUMBER = r"(-?\d{1,12}(?:\.\d{1,9})?)"
_UNIT = r"([KMGT]i?B)"

_LINES = (
    _line("version ", r"(?:█|API server).{0,40}version v?(\d\S{0,60})", lambda v: {"version": v}, boots=True),
    _line("LLM engine (", r"LLM engine \(v(\d[^)\s]{0,60})\)", lambda v: {"version": v, "ready": False}),
    _line("max model len", rf"Using max model len {_COUNT}", lambda n: {"max_model_len": _whole(n)}),
    _line("Checkpoint size", rf"Checkpoint size: {_NUMBER} {_UNIT}", lambda n, u: {"checkpoint_bytes": _sized(n, u)}),
    _line(
        "oading", rf"(?:Model loading|Loading model weights) took {_NUMBER} {_UNIT}",
        lambda n, u: {"weights_bytes": _sized(n, u)},
    ),
    _line("oading weights", rf"oading weights took {_NUMBER} s", lambda n: {"weights_load_s": float(n)}),
    _line(
        "KV cache memory", rf"Available KV cache memory: {_NUMBER} ?{_UNIT}",
        lambda n, u: {"kv_memory_bytes": _sized(n, u)},
    ),
    _line(
        "Explicitly set", rf"Explicitly set \({_NUMBER}/[\d.]+\) {_UNIT} for KV cache",
        lambda n, u: {"kv_memory_bytes": _sized(n, u)},
    ),
    _line("KV cache size", rf"KV cache size: {_COUNT} tokens", lambda n: {"kv_cache_tok": _whole(n)}),
    _line(
        "aximum concurrency", rf"aximum concurrency for {_COUNT} tokens per request: {_NUMBER}x",
        lambda n, x: {"max_concurrency_tok": _whole(n), "max_concurrency": float(x)},
    ),
    _line(
        "attention block size", rf"attention block size to {_COUNT} tokens",
        lambda n: {"attention_block_tok": _whole(n)},
    ),
    _line("torch.compile", rf"torch\.compile takes {_NUMBER} s", lambda n: {"compile_s": float(n)}),
    _line("raph capturing", rf"raph capturing finished in {_NUMBER} s", lambda n: {"graph_capture_s": float(n)}),
    _line("init engine", rf"init engine .{{0,80}}took {_NUMBER} s", lambda n: {"engine_init_s": float(n)}),
    _line("startup complete", r"Application startup complete", lambda: {"ready": True}),
    # llama.cpp
    _line("build_info", r"build_info: (\S{1,60})", lambda v: {} if v == "b0-unknown" else {"version": v}, boots=True),
    _line("n_ctx_slot", rf"n_ctx_slot = {_COUNT}", lambda n: {"max_model_len": _whole(n)}),
    _line(
        "llama_kv_cache", rf"llama_kv_cache\w*: +size = +{_NUMBER} {_UNIT} \( *{_COUNT} cells",
        lambda n, u, c: {"kv_memory_bytes": _sized(n, u), "kv_cache_tok": _whole(c)},
    ),
    _line("model size", rf"model size += +{_NUMBER} {_UNIT}", lambda n, u: {"weights_bytes": _sized(n, u)}),
    _line("listening on", r"(?:server is )?listening on http", lambda: {"ready": True}),
)  # fmt: skip
