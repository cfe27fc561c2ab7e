"""Which figures a trial decides by, and which way is better."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

# Only these are judged. Others (tokens per event, the seeds' form of decode, acceptance) explain a figure; more of them
# is neither better nor worse.
_HIGHER = frozenset({"decode_tok_s", "prefill_tok_s", "throughput_tok_s", "retention", "score"})
_LOWER = frozenset({"ttfr_s", "ttft_s", "ttfa_s", "e2e_s"})


def is_judged(metric: str) -> bool:
    """Whether a metric gets a verdict."""
    return metric in _HIGHER or metric in _LOWER


def higher_is_better(metric: str) -> bool:
    """Which way is better; ValueError for a metric that is not judged."""
    if not is_judged(metric):
        raise ValueError(f"{metric} is not judged")
    return metric in _HIGHER


def matches(patterns: Sequence[str], ruler: str, case: str, metric: str) -> bool:
    """Whether a figure is meant by one of the globs over `ruler/case/metric`; a case may hold slashes itself."""
    return any(fnmatchcase(f"{ruler}/{case}/{metric}", pattern) for pattern in patterns)
