"""How figures are called: llama-bench's row labels, a metric in words, the footer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TITLES = {
    "decode_tok_s": "decode",
    "decode_tok_s_seed": "decode, seeds' form",
    "prefill_tok_s": "prefill",
    "throughput_tok_s": "throughput",
    "ttfr_s": "first byte",
    "ttft_s": "first token",
    "ttft_p95_s": "first token, 95th percentile",
    "ttfa_s": "first answer token",
    "e2e_s": "whole request",
    "acceptance_rate": "drafts accepted",
    "acceptance_length": "tokens per step",
    "retention": "kept under load",
    "knee_streams": "knee",
    "recommended_budget_tok": "recommended budget",
}


def metric_title(metric: str) -> str:
    """`first token` for `ttft_s`; an unknown name in words: `cut_off_share` is `cut off share`."""
    return _TITLES.get(metric, metric.replace("_", " "))


def row_label(ruler: str, case: str, settings: Mapping[str, Any] | None = None) -> str:
    """The row's name as llama-bench users read it: `pp8000`, `tg512 prose/en/think-off`, `tg512 @ d8192 (c4)`."""
    tokens = whole((settings or {}).get("max_tokens"))
    generated = f"tg{tokens}" if tokens else "tg"
    if ruler == "decode":
        return f"{generated} {case}".strip()
    if ruler == "concurrency":
        return _concurrency_label(generated, case)
    if ruler == "long-input" and (depth := re.fullmatch(r"[a-z]*(\d+)(.*)", case)):
        return f"tg @ d{depth[1]}{depth[2]}"
    return case or ruler


def whole(value: object) -> int | None:
    """A count of a likely size out of an untyped place, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**12 else None


def footer(tool: Mapping[str, str], method: str) -> str:
    """`pitstop 0.1.0 · median of samples, every sample kept`."""
    name = f"{tool.get('name', 'pitstop')} {tool.get('version', '')}".strip()
    return f"{name} · {method}"


def _concurrency_label(generated: str, case: str) -> str:
    level = re.fullmatch(r"c?(\d+)(.*)", case)
    return f"{generated} (c{level[1]}){level[2]}" if level else case or "concurrency"
