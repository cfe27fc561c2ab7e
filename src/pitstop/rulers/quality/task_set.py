"""Which tasks a run asks: the 28, drawn by its seed, or a folder of one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pitstop.core.config.quality import Languages, Quality
from pitstop.rulers.quality.coding import CODING
from pitstop.rulers.quality.coding_hard import CODING_HARD
from pitstop.rulers.quality.logic import LOGIC
from pitstop.rulers.quality.mathematics import MATHEMATICS
from pitstop.rulers.quality.own_tasks import read_folder
from pitstop.rulers.quality.task import Instance, Language, Task, digest
from pitstop.rulers.quality.tool_tasks import TOOL_TASKS
from pitstop.rulers.ruler import Settings

TASKS: tuple[Task, ...] = (*MATHEMATICS, *LOGIC, *CODING, *CODING_HARD, *TOOL_TASKS)
EDITION = "pitstop-28/1"  # raised when a generator changes: scores of two editions are not comparable


@dataclass(frozen=True)
class TaskSet:
    """`name` says which tasks there are, whatever the seed; `instances` are what this seed drew of them."""

    name: str
    instances: tuple[Instance, ...]


def task_set(settings: Settings) -> TaskSet:
    """The tasks of these settings whose case fits; UsageError for a folder of tasks that cannot be read."""
    wanted = settings.quality
    if wanted.tasks:
        own = own_set(wanted)
        return replace(own, instances=tuple(one for one in own.instances if _fits(one, settings.cases)))
    drawn = [
        task.generate(settings.seed, language) for task, language in _with_languages(wanted.language, settings.seed)
    ]
    return TaskSet(f"{EDITION}/{wanted.language}", tuple(one for one in drawn if _fits(one, settings.cases)))


def own_set(wanted: Quality) -> TaskSet:
    """The whole folder of one's own tasks, named by a hash over them; UsageError where it cannot be read."""
    own = read_folder(Path(wanted.tasks).expanduser())
    return TaskSet(f"own/{digest(*(f'{one.prompt}{one.key}' for one in own))}", tuple(own))


def _with_languages(wanted: Languages, seed: int) -> list[tuple[Task, Language]]:
    """`both` gives every second task the other language; which ones is up to the seed."""
    if wanted == "both":
        languages: tuple[Language, Language] = ("en", "de")
        return [(task, languages[(index + seed) % 2]) for index, task in enumerate(TASKS)]
    return [(task, wanted) for task in TASKS]


def _fits(instance: Instance, globs: tuple[str, ...]) -> bool:
    return not globs or any(fnmatchcase(instance.name, glob) for glob in globs)
