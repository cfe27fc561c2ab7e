"""Logs of inspect_ai: JSON of version 1 or 2, or its archive, as written by inspect_ai 0.3.285."""

from __future__ import annotations

import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitstop.core.errors import UsageError
from pitstop.services.compare.foreign import Reading
from pitstop.services.compare.scored_answers import Answers, as_object, as_objects, as_text, digest, figures

INSPECT = "inspect_ai"
_MOST_BYTES = 2**30  # of one file in an archive; a log of ten thousand long answers has a few hundred megabytes
# As inspect_ai's own value_to_float has them; P (partial) is neither right nor wrong.
_WORDS = {"C": 1, "I": 0, "N": 0, "yes": 1, "true": 1, "no": 0, "false": 0, "1": 1, "0": 0, "1.0": 1, "0.0": 0}
_SETTINGS = (
    "temperature", "top_p", "top_k", "max_tokens", "seed", "stop_seqs", "system_message", "reasoning_effort",
    "reasoning_tokens", "frequency_penalty", "presence_penalty", "num_choices", "best_of",
)  # fmt: skip
# Whatever zipfile and what it unpacks with raise over bytes that are no archive, or a damaged one.
_BROKEN = (
    zipfile.BadZipFile, NotImplementedError, KeyError, ValueError, RecursionError, EOFError, RuntimeError, OSError,
    zlib.error, lzma.LZMAError, struct.error,
)  # fmt: skip


def is_log(told: Any) -> bool:
    return isinstance(told, dict) and {"eval", "status"} <= told.keys()


def of_log(log: Mapping[str, Any], path: Path) -> Reading:
    """Every score of every sample; UsageError for a log that did not finish, or holds no score."""
    about = as_object(log["eval"])
    if log["status"] != "success":
        raise UsageError(
            f"{path} is a log of inspect_ai that ended as {log['status']!r}.", hint="Finish it: inspect eval-retry."
        )
    facts = {
        "task": str(about.get("task")), "version of the task": str(about.get("task_version")),
        "arguments of the task": as_text(about.get("task_args")),
        "solver": as_text([about.get("solver"), about.get("solver_args")] if about.get("solver") else None),
        "samples": str(as_object(about.get("dataset")).get("samples")), "generation settings": _settings(log, about),
    }  # fmt: skip
    return Reading(INSPECT, str(about.get("model")), facts, figures(INSPECT, _answers(log, about), path), {})


def unpacked(content: bytes, path: Path) -> Any:
    """The archive as the object that its JSON would be; Python cannot unpack what newer ones pack."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            names = [name for name in packed.namelist() if name.startswith("samples/") and name.endswith(".json")]
            header = _member(packed, "header.json")
            return {**as_object(header), "samples": [_member(packed, name) for name in dict.fromkeys(names)]}
    except _BROKEN as error:
        raise UsageError(
            f"{path} is an archive that cannot be read here ({error}).",
            hint=f"Try: inspect log dump {path.name} > log.json",
        ) from error


def _member(packed: zipfile.ZipFile, name: str) -> Any:
    if packed.getinfo(name).file_size > _MOST_BYTES:
        raise ValueError(f"{name} has {packed.getinfo(name).file_size} bytes")
    return json.loads(packed.read(name))


def _answers(log: Mapping[str, Any], about: Mapping[str, Any]) -> list[Answers]:
    """One entry a scorer. A sample without its score (an error, or invalidated) leaves that score in doubt."""
    samples = _once(as_objects(log.get("samples")))
    found: dict[str, Answers] = {}
    for sample in samples:
        for scorer, score in _scores(sample, log).items():
            value = _value(as_object(score).get("value"))
            if value is None or value != value:  # noqa: PLR0124 - NaN is how an unscored one is written
                continue
            found.setdefault(scorer, Answers(f"{about.get('task')} {scorer}")).add(_name(sample), value)
    for one in found.values():
        one.doubt = _doubt(len(samples) - sum(map(len, one.values.values())), samples)
    return list(found.values())


def _once(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each attempt once, the last one written: a log that was retried may hold an attempt again."""
    attempts = {(_name(one), str(one.get("epoch", place))): one for place, one in enumerate(samples)}
    return list(attempts.values())


def _scores(sample: Mapping[str, Any], log: Mapping[str, Any]) -> Mapping[str, Any]:
    """Version 1 has one `score`, whose scorer is named in the results."""
    if sample.get("invalidation"):
        return {}
    if not sample.get("scores") and sample.get("score"):
        scorer = as_object(as_object(log.get("results")).get("scorer")).get("name")
        return {str(scorer or "score"): sample["score"]}
    return as_object(sample.get("scores"))


def _name(sample: Mapping[str, Any]) -> str:
    """The id and what was asked: ids are often mere places, and places in a shuffled set hold other questions."""
    asked = sample.get("input")
    if isinstance(asked, list):  # messages, which have ids of their own
        asked = [[one.get("role"), one.get("content")] for one in as_objects(asked)]
    return f"{sample.get('id')} {digest([asked, sample.get('choices'), sample.get('target')])}"


def _doubt(missing: int, samples: list[dict[str, Any]]) -> str:
    if not missing:
        return ""
    errors = [as_object(one.get("error")).get("message") for one in samples]
    first = next((f", such as {str(error).splitlines()[0][:120]!r}" for error in errors if error), "")
    return f"{missing} of {len(samples)} attempts have no score{first}; what is left may be the easier part"


def _settings(log: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """What changes answers; how many connections and retries there were does not."""
    told = {**as_object(about.get("model_generate_config")), **as_object(as_object(log.get("plan")).get("config"))}
    return as_text({key: told[key] for key in _SETTINGS if told.get(key) is not None})


def _value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _WORDS.get(value, _WORDS.get(value.casefold(), value))
