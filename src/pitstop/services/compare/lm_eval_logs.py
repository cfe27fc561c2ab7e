"""Logs of lm-evaluation-harness 0.4.

`results_*.json` beside `samples_TASK_*.jsonl` (`--log_samples`), the samples alone, or both in one object from its
Python API.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pitstop.core.errors import UsageError
from pitstop.services.compare.foreign import Reading
from pitstop.services.compare.scored_answers import Answers, as_object, as_objects, as_text, digest, figures

LM_EVAL = "lm-eval"
_FACTS_OF_A_SAMPLE = frozenset({"doc_id", "target", "idx", "doc_to_decontamination_query"})

Sample = tuple[str, dict[str, Any]]  # with its task


def is_results(told: Any) -> bool:
    """Of any version: those before 0.4 have `versions` and no `configs`."""
    return isinstance(told, dict) and "results" in told and bool({"configs", "versions"} & told.keys())


def of_samples(results: Mapping[str, Any], samples: Sequence[Sample], path: Path) -> Reading:
    """One score a task, metric and filter; UsageError where no answer was logged."""
    asked = as_object(results.get("config"))
    facts = {
        "versions of the tasks": as_text(results.get("versions")), "shots": as_text(results.get("n-shot")),
        "limit": as_text(asked.get("limit")), "generation arguments": as_text(asked.get("gen_kwargs")),
    }  # fmt: skip
    model = asked.get("model_args") or results.get("model_name") or asked.get("model")
    return Reading(LM_EVAL, as_text(model), facts, figures(LM_EVAL, _answers(results, samples), path), {})


def samples_of(content: bytes, told: Any, path: Path) -> Iterator[Sample]:
    """Every logged answer with its task: in the object itself, in lines, or in the files beside the results."""
    if isinstance(told, dict) and isinstance(told.get("samples"), dict) and "results" in told:
        yield from ((task, one) for task, each in told["samples"].items() for one in as_objects(each))
    elif is_results(told):
        for task, beside in _beside(told, path):
            yield from _lines(beside.read_bytes(), beside, task)
    elif path.suffix == ".jsonl" or (isinstance(told, dict) and "doc_id" in told):
        yield from _lines(content, path, _task_of(path))


def _beside(results: Mapping[str, Any], path: Path) -> list[tuple[str, Path]]:
    """The samples of these results and of no others in the folder: of their tasks, and of their time."""
    tasks = {*as_object(results.get("results")), *as_object(results.get("configs"))}
    stamp = path.stem.removeprefix("results")
    named = {f"samples_{task}{stamp}.jsonl": str(task) for task in tasks}
    files = sorted(path.parent.glob("samples_*.jsonl"))
    return [
        (named.get(file.name, _task_of(file)), file)
        for file in files
        if file.name in named or (stamp and file.stem.endswith(stamp))
    ]


def _task_of(samples: Path) -> str:
    return re.sub(r"_\d{4}-\d\d-\d\dT[\d.:-]+$", "", samples.stem.removeprefix("samples_"))


def _lines(content: bytes, path: Path, task: str) -> Iterator[Sample]:
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


def _answers(results: Mapping[str, Any], samples: Sequence[Sample]) -> list[Answers]:
    found: dict[str, Answers] = {}
    prompts: dict[str, set[str]] = {}
    for task, sample in samples:
        told = str(sample.get("filter", ""))
        for metric in _metrics(sample):
            case = " ".join(filter(None, (task, metric, "" if told == "none" else told)))
            one = found.setdefault(case, Answers(case, refused=_less_is_better(results, task, metric)))
            one.add(_name(sample), sample[metric])
            prompts.setdefault(case, set()).add(_prompt(sample))
    for case, one in found.items():
        one.prompts = "" if "" in prompts[case] else digest(sorted(prompts[case]))
    return list(found.values())


def _metrics(sample: Mapping[str, Any]) -> list[str]:
    """The metrics of a sample: those that it names, else every number that is none of its other fields."""
    named = sample.get("metrics")
    names = named if isinstance(named, list) else [name for name in sample if name not in _FACTS_OF_A_SAMPLE]
    return [name for name in names if isinstance(name, str) and isinstance(sample.get(name), int | float)]


def _less_is_better(results: Mapping[str, Any], task: str, metric: str) -> str:
    """As with the share of stereotypes, which would be called better when there is more of it."""
    directions = as_object(as_object(results.get("higher_is_better")).get(task))
    return f"less is better with {metric}; such scores are not judged" if directions.get(metric) is False else ""


def _name(sample: Mapping[str, Any]) -> str:
    """The place in the data set and what stood there: a place alone may hold another question in another run."""
    told = sample.get("doc_hash")
    content = str(told)[:8] if told else digest(sample["doc"]) if "doc" in sample else ""
    return f"{sample.get('doc_id')} {content}".strip()


def _prompt(sample: Mapping[str, Any]) -> str:
    """A hash of what was sent, shots and system instruction included; empty where it was not logged."""
    told = sample.get("prompt_hash")
    return str(told) if told else digest(sample["arguments"]) if sample.get("arguments") else ""
