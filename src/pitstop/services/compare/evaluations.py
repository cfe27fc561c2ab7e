"""Logs of other evaluations, answer by answer: lm-eval's samples and inspect_ai's logs, so that pairs can be judged.

As read in inspect_ai 0.3.285 (a log that it wrote, as JSON and in its archive) and in lm-evaluation-harness 0.4
(`--log_samples`: `results_*.json` beside `samples_TASK_*.jsonl`, or both in one object from its Python API).
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pitstop.core.documents import Figure, Status
from pitstop.core.errors import UsageError
from pitstop.services.compare.foreign import Reading

INSPECT, LM_EVAL = "inspect_ai", "lm-eval"
_MOST_BYTES = 2**30  # of one file in an archive; a log of ten thousand long answers has a few hundred megabytes
_LETTERS = {"C": 1, "I": 0, "N": 0}  # correct, incorrect, no answer; P (partial) is neither right nor wrong
_FACTS_OF_A_SAMPLE = frozenset({"doc_id", "target", "idx", "doc_to_decontamination_query"})

Scores = dict[str, dict[str, list[Any]]]  # case, sample, one value an attempt


def read(content: bytes, told: Any, path: Path) -> Reading | None:
    """What an evaluation logged; None when it is no log known here. UsageError for one that holds no answers."""
    if content[:2] == b"PK":
        told = _archive(content, path)
    if isinstance(told, dict) and {"eval", "status"} <= told.keys():
        return _inspect(told, path)
    samples = list(_samples(content, told, path))
    if samples or (isinstance(told, dict) and {"results", "configs"} <= told.keys()):
        return _lm_eval(told if isinstance(told, dict) else {}, samples, path)
    return None


def _inspect(log: Mapping[str, Any], path: Path) -> Reading:
    about, samples = _object(log["eval"]), _objects(log.get("samples"))
    if log["status"] != "success":
        raise UsageError(
            f"{path} is a log of inspect_ai that ended as {log['status']!r}.", hint="Finish it: inspect eval-retry."
        )
    scores: Scores = {}
    for sample in samples:
        for scorer, score in _object(sample.get("scores")).items():
            values = scores.setdefault(f"{about.get('task')} {scorer}", {}).setdefault(str(sample.get("id")), [])
            values.append(_letter(_object(score).get("value")))
    facts = {
        "task": str(about.get("task")), "version of the task": str(about.get("task_version")),
        "arguments of the task": _text(about.get("task_args")),
        "samples": str(_object(about.get("dataset")).get("samples")),
    }  # fmt: skip
    return Reading(INSPECT, str(about.get("model")), facts, _figures(INSPECT, scores, path), {})


def _lm_eval(results: Mapping[str, Any], samples: Sequence[tuple[str, dict[str, Any]]], path: Path) -> Reading:
    scores: Scores = {}
    for task, sample in samples:
        where = str(sample.get("filter", "")).replace("none", "")
        name = f"{sample.get('doc_id')} {str(sample.get('doc_hash', ''))[:8]}".strip()
        for metric in _metrics(sample):
            case = " ".join(filter(None, (task, metric, where)))
            scores.setdefault(case, {}).setdefault(name, []).append(sample[metric])
    asked = _object(results.get("config"))
    facts = {
        "versions of the tasks": _text(results.get("versions")), "shots": _text(results.get("n-shot")),
        "limit": _text(asked.get("limit")), "generation arguments": _text(asked.get("gen_kwargs")),
    }  # fmt: skip
    model = asked.get("model_args") or results.get("model_name") or asked.get("model")
    return Reading(LM_EVAL, _text(model), facts, _figures(LM_EVAL, scores, path), {})


def _samples(content: bytes, told: Any, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every logged answer with its task: in the object itself, in lines, or in the files beside the results."""
    if isinstance(told, dict) and isinstance(told.get("samples"), dict) and "results" in told:
        yield from ((task, one) for task, each in told["samples"].items() for one in _objects(each))
    elif isinstance(told, dict) and {"results", "configs"} <= told.keys():
        stamp = path.stem.removeprefix("results")
        for beside in sorted(path.parent.glob(f"samples_*{stamp}.jsonl")):
            yield from _lines(beside.read_bytes(), beside)
    elif path.suffix == ".jsonl" or (isinstance(told, dict) and "doc_id" in told):
        yield from _lines(content, path)


def _lines(content: bytes, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    task = re.sub(r"_\d{4}-\d\d-\d\dT[\d.:-]+$", "", path.stem.removeprefix("samples_"))
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            sample = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}: this is no JSON.") from error
        if not isinstance(sample, dict) or "doc_id" not in sample:
            raise UsageError(f"{path}, line {number}: this is no sample of lm-eval; it has no doc_id.")
        yield task, sample


def _metrics(sample: Mapping[str, Any]) -> list[str]:
    """The metrics of a sample: those that it names, else every number that is none of its other fields."""
    named = sample.get("metrics")
    names = named if isinstance(named, list) else [name for name in sample if name not in _FACTS_OF_A_SAMPLE]
    return [name for name in names if isinstance(name, str) and isinstance(sample.get(name), int | float)]


def _figures(tool: str, scores: Scores, path: Path) -> tuple[Figure, ...]:
    if not scores:
        raise UsageError(
            f"{path} holds no answer that was scored, so there is nothing to pair.",
            hint="lm-eval writes them with --log_samples, inspect_ai unless it was told not to.",
        )
    return tuple(_figure(tool, case, samples) for case, samples in scores.items())


def _figure(tool: str, case: str, samples: Mapping[str, list[Any]]) -> Figure:
    """One score. Only answers that are right or wrong can be paired; a grade between is left as it is."""
    between = [value for each in samples.values() for value in each if value not in (0, 1)]
    if between:
        reason = f"answers are graded, as with {between[0]!r}, not right or wrong; such scores are not judged"
        return _score(tool, case, None, len(samples), reason, {"set": f"{tool} {case}"})
    marks = {name: [int(value) for value in each] for name, each in samples.items()}
    mean = math.fsum(sum(each) / len(each) for each in marks.values()) / len(marks)
    return _score(tool, case, mean, len(samples), "", {"set": f"{tool} {case}", "marks": marks})


def _score(tool: str, case: str, value: float | None, n: int, reason: str, detail: dict[str, Any]) -> Figure:
    status = Status.UNAVAILABLE if reason else Status.OK
    return Figure(
        ruler=tool, case=case, metric="score", unit="fraction", value=value, status=status, source=tool, reason=reason,
        n=n, detail=detail,
    )  # fmt: skip


def _letter(value: Any) -> Any:
    return _LETTERS.get(value, value) if isinstance(value, str) else value


def _archive(content: bytes, path: Path) -> Any:
    """The archive of inspect_ai as the object that its JSON would be; Python cannot unpack what newer ones pack."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            names = [name for name in packed.namelist() if name.startswith("samples/") and name.endswith(".json")]
            header = _unpacked(packed, "header.json")
            return {**_object(header), "samples": [_unpacked(packed, name) for name in names]}
    except (zipfile.BadZipFile, NotImplementedError, KeyError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is an archive that cannot be read here ({error}).",
            hint=f"Try: inspect log dump {path.name} > log.json",
        ) from error


def _unpacked(packed: zipfile.ZipFile, name: str) -> Any:
    if packed.getinfo(name).file_size > _MOST_BYTES:
        raise ValueError(f"{name} has {packed.getinfo(name).file_size} bytes")
    return json.loads(packed.read(name))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return (
        [one for one in value if isinstance(one, dict)]
        if isinstance(value, Iterable) and not isinstance(value, dict)
        else []
    )


def _text(value: Any) -> str:
    return "not told" if value is None else value if isinstance(value, str) else json.dumps(value, sort_keys=True)
