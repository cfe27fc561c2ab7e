"""Logs of other evaluations, answer by answer: lm-eval's samples and inspect_ai's logs, so that pairs can be judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pitstop.services.compare import inspect_logs, lm_eval_logs
from pitstop.services.compare.foreign import Reading


def read(content: bytes, told: Any, path: Path) -> Reading | None:
    """What an evaluation logged; None when it is no log known here. UsageError for one that holds no answers."""
    if content[:2] == b"PK":
        told = inspect_logs.unpacked(content, path)
    if inspect_logs.is_log(told):
        return inspect_logs.of_log(told, path)
    samples = list(lm_eval_logs.samples_of(content, told, path))
    if samples or lm_eval_logs.is_results(told):
        return lm_eval_logs.of_samples(told if isinstance(told, dict) else {}, samples, path)
    return None
