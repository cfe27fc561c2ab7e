"""How figures are called and written: llama-bench's row labels, numbers with their unit, spreads, the footer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from pitstop.core.units import format_duration, format_size

UNKNOWN = "–"  # not known, which is not zero
MINUS = "\N{MINUS SIGN}"


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
}


def metric_title(metric: str) -> str:
    """`first token` for `ttft_s`; an unknown name in words: `cut_off_share` is `cut off share`."""
    return _TITLES.get(metric, metric.replace("_", " "))


def row_label(ruler: str, case: str, settings: Mapping[str, Any] | None = None) -> str:
    """The row's name as llama-bench users read it: `pp8000`, `tg512 prose/en/think-off`, `tg512 @ d8192 (c4)`."""
    generated = f"tg{tokens}" if (tokens := whole((settings or {}).get("max_tokens"))) else "tg"
    if ruler == "decode":
        return f"{generated} {case}".strip()
    if ruler == "concurrency":
        return _concurrency_label(generated, case)
    if ruler == "long-input" and (depth := re.fullmatch(r"[a-z]*(\d+)(.*)", case)):
        return f"tg @ d{depth[1]}{depth[2]}"
    return case or ruler


def number(value: float | None) -> str:
    """Three significant digits, thousands marked: `78.6`, `7,812`, `0.0621`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.2e}".replace("-", MINUS)
    decimals = 0 if size >= 1000 or size == 0 else max(0, 2 - math.floor(math.log10(size)))
    return f"{value:,.{decimals}f}".replace("-", MINUS)


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit as people say it: `62.1 ms`, `78.6 tok/s`, `43.6 %`, `12.0 GiB`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if unit == "s":
        return f"{number(value * 1000)} ms" if abs(value) < 1 else f"{number(value)} s"
    if unit in {"fraction", "share", "ratio", "%"}:
        return f"{number(value if unit == '%' else value * 100)} %"
    if unit in {"B", "bytes"}:
        return format_size(value)
    return f"{number(value)} {unit}" if unit and unit != "1" else number(value)


def handy_unit(unit: str, value: float | None) -> tuple[float, str]:
    """What to multiply by, and the unit that comes out: short times in `ms`, fractions in `%`."""
    if unit == "s" and value is not None and abs(value) < 1:
        return 1000.0, "ms"
    return (100.0, "%") if unit == "fraction" else (1.0, unit)


def scaled(value: float | None, factor: float) -> float | None:
    """The value in another unit; what is not known stays so."""
    return None if value is None else value * factor


def spread(samples: Iterable[float]) -> str:
    """`[77.9 – 79.1]`: smallest and largest sample; empty for fewer than two."""
    known = finite(samples)
    return f"[{number(min(known))} – {number(max(known))}]" if len(known) > 1 else ""


def median_cell(value: float | None, samples: Sequence[float]) -> str:
    """`78.6 [77.9 – 79.1]`: the figure and how far its samples lie apart."""
    known = finite(samples)
    shown = number(value if value is not None else median(known) if known else None)
    return f"{shown} {spread(known)}".strip()


def mean_cell(samples: Sequence[float]) -> str:
    """`78.5 ± 0.6`: mean and sample standard deviation, as llama-bench writes it; one sample has no spread."""
    known = [value for value in finite(samples) if abs(value) < 1e150]  # squares must stay finite
    if len(known) < 2:
        return number(known[0]) if known else UNKNOWN
    return f"{number(fmean(known))} ± {number(stdev(known))}"


def percent(fraction: float | None, *, signed: bool = False) -> str:
    """0.031 as `3.1 %`, with a sign where it is a change."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    value = fraction * 100
    if value == 0:
        return "0 %"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 0.095 else 2
    return f"{value:{'+' if signed else ''},.{digits}f} %".replace("-", MINUS)


def round_percent(fraction: float) -> str:
    """A round share without needless decimals, for axes: `+10 %`, `2.5 %`."""
    return f"{round(fraction * 100, 6):+,g} %".replace("-", MINUS).replace("+0 %", "0 %")


def change(ratio: float | None) -> str:
    """A ratio of variant over production as a change: 1.031 is `+3.1 %`."""
    return percent(None if ratio is None else ratio - 1, signed=True)


def change_interval(interval: tuple[float, float] | None) -> str:
    """`[+1.2 %, +5.0 %]`, or a dash when there is none."""
    return UNKNOWN if interval is None else f"[{change(interval[0])}, {change(interval[1])}]"


def seconds(value: float | None) -> str:
    """A length of time in its two largest units."""
    return UNKNOWN if value is None or not math.isfinite(value) else format_duration(value)


def finite(samples: Iterable[float | None]) -> list[float]:
    """The samples that are numbers."""
    return [value for value in samples if value is not None and math.isfinite(value)]


def whole(value: object) -> int | None:
    """A count out of an untyped place, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def footer(tool: Mapping[str, str], method: str) -> str:
    """`pitstop 0.1.0 · median of samples, every sample kept`."""
    name = f"{tool.get('name', 'pitstop')} {tool.get('version', '')}".strip()
    return f"{name} · {method}"


def _concurrency_label(generated: str, case: str) -> str:
    level = re.fullmatch(r"c?(\d+)(.*)", case)
    return f"{generated} (c{level[1]}){level[2]}" if level else f"{generated} {case}".strip()
