"""What another evaluation made of each answer, as the one figure that pitstop judges: a score with its marks."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pitstop.core.documents import Figure, Status
from pitstop.core.errors import UsageError


@dataclass
class Answers:
    """All answers under one score: by sample, one value an attempt.

    `doubt` is why the score cannot be claimed, `refused` why it cannot be judged at all; `prompts` is a hash over what
    was sent, where that is known.
    """

    case: str
    values: dict[str, list[Any]] = field(default_factory=dict)
    doubt: str = ""
    refused: str = ""
    prompts: str = ""

    def add(self, sample: str, value: Any) -> None:
        self.values.setdefault(sample, []).append(value)


def figures(tool: str, scores: Iterable[Answers], path: Path) -> tuple[Figure, ...]:
    """UsageError where nothing was scored."""
    found = tuple(_figure(tool, one) for one in scores)
    if not found:
        raise UsageError(
            f"{path} holds no answer that was scored, so there is nothing to pair.",
            hint="lm-eval writes them with --log_samples, inspect_ai unless it was told not to.",
        )
    return found


def _figure(tool: str, answers: Answers) -> Figure:
    """Only answers that are right or wrong can be paired; a grade between is left as it is."""
    between = [value for each in answers.values.values() for value in each if value not in (0, 1)]
    refused = answers.refused
    if between and not refused:
        refused = f"answers are graded, as with {between[0]!r}, not right or wrong; such scores are not judged"
    detail: dict[str, Any] = {"set": f"{tool} {answers.case}"}
    if answers.prompts:
        detail["prompts_hash"] = answers.prompts
    if refused:
        return _score(tool, answers, None, Status.UNAVAILABLE, refused, detail)
    marks = {name: [int(value) for value in each] for name, each in answers.values.items()}
    mean = math.fsum(sum(each) / len(each) for each in marks.values()) / len(marks)
    status = Status.UNVERIFIED if answers.doubt else Status.OK
    return _score(tool, answers, mean, status, answers.doubt, {**detail, "marks": marks})


def _score(
    tool: str, answers: Answers, value: float | None, status: Status, reason: str, detail: dict[str, Any]
) -> Figure:
    return Figure(
        ruler=tool, case=answers.case, metric="score", unit="fraction", value=value, status=status, source=tool,
        reason=reason, n=len(answers.values), detail=detail,
    )  # fmt: skip


def digest(value: Any) -> str:
    """Eight hex digits over anything that JSON can hold."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def as_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def as_objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """A value as a fact of the run; what is missing is `not told`."""
    return "not told" if value is None else value if isinstance(value, str) else json.dumps(value, sort_keys=True)
