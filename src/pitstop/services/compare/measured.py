"""A run as `compare` sees it, whoever measured it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from pitstop.core.documents import Figure, RunDocument
from pitstop.core.errors import UsageError
from pitstop.decisions.merit import is_judged
from pitstop.report.reading import read_document
from pitstop.services.compare import evaluations, foreign

Key = tuple[str, str, str]  # ruler, case, metric

# Settings that do not change what one figure means: cases carry sizes, streams and thinking in their names, a score
# its set of tasks in its detail.
_HARMLESS = frozenset(
    {
        "runs",
        "rulers",
        "cases",
        "request_timeout_s",
        "concurrency",
        "pp",
        "depths",
        "thinking",
        "resumed_at",
        "quality_tasks",
    }
)

# How often and how many at once changes how much is known, not what; where code runs, neither.
_HARMLESS_OF_QUALITY = frozenset({"repeats", "parallel", "sandbox", "tasks"})


@dataclass(frozen=True)
class Measured:
    """`facts` must agree for two runs to be comparable; `lengths` are typical prompt tokens by ruler and case."""

    name: str
    tool: str
    model: str
    facts: Mapping[str, str]
    figures: Mapping[Key, Figure]
    lengths: Mapping[tuple[str, str], float] = field(default_factory=dict)
    engine_kind: str | None = None
    run_id: str | None = None
    boot: tuple[str | None, ...] | None = None  # what names the boot, where it is known


def read(path: Path) -> Measured:
    """The run in a file of pitstop or of another tool; UsageError when it is none.

    Others: llama-benchy, guidellm, `vllm bench serve`, and the logs of lm-eval and inspect_ai.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    told = _told(content)
    reading = _by_others(content, told, path)
    if reading is not None:
        return Measured(
            name=str(path), tool=reading.tool, model=reading.model, facts=reading.facts, lengths=reading.lengths,
            figures={(one.ruler, one.case, one.metric): one for one in reading.figures},
            run_id=hashlib.sha256(content).hexdigest(),
        )  # fmt: skip
    document = read_document(content, str(path))
    if not isinstance(document, RunDocument):
        raise UsageError(f"{path} is a trial, which has its verdicts already.", hint=f"pitstop report {path}")
    return of_run(document, str(path))


def _by_others(content: bytes, told: Any, path: Path) -> foreign.Reading | None:
    if isinstance(told, dict) and "schema" in told:
        return None
    speed = foreign.read(told, str(path)) if isinstance(told, dict) else None
    return speed or evaluations.read(content, told, path)


def of_run(run: RunDocument, name: str) -> Measured:
    """A run document; figures that are not judged (they explain others) are left out."""
    engine = run.engine
    boot = (engine.container_id, None if engine.pid is None else str(engine.pid), engine.started_at)
    return Measured(
        name=name,
        tool="pitstop",
        model=engine.model,
        facts=_facts(run.settings),
        figures={(f.ruler, f.case, f.metric): f for f in run.figures if is_judged(f.metric)},
        lengths=_lengths(run),
        engine_kind=engine.kind,
        run_id=run.id,
        boot=boot if engine.started_at and any(boot[:2]) else None,
    )


def _facts(settings: Mapping[str, Any]) -> dict[str, str]:
    told = {key: _text(value) for key, value in settings.items() if key not in _HARMLESS}
    quality = settings.get("quality")
    if isinstance(quality, Mapping):
        told["quality"] = _text({key: value for key, value in quality.items() if key not in _HARMLESS_OF_QUALITY})
    return told


def _lengths(run: RunDocument) -> dict[tuple[str, str], float]:
    counts: dict[tuple[str, str], list[int]] = {}
    for request in run.requests:
        if request.ok and request.prompt_tokens is not None:
            counts.setdefault((request.ruler, request.case), []).append(request.prompt_tokens)
    return {key: float(median(values)) for key, values in counts.items()}


def _told(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
