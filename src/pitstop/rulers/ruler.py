"""What a ruler is given and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pitstop.client.endpoint import Endpoint
from pitstop.core.config.quality import Quality
from pitstop.core.documents import Figure, Notice, RequestRecord, TaskRecord
from pitstop.engines.adapter import Adapter, Capabilities
from pitstop.rulers.learnt import Learnt
from pitstop.rulers.limit import Reads
from pitstop.rulers.nonce import Nonces

Progress = Callable[[str, int, int], None]  # what is being done, steps done, steps in all


Keep = Callable[[TaskRecord], None]  # puts one answered task where an interruption cannot take it


def kept_nowhere(_task: TaskRecord) -> None:
    """For a run that is not to be resumed."""


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Settings:
    """What was asked for; the defaults are the reports' own."""

    runs: int = 3
    max_tokens: int = 512
    pp: tuple[int, ...] = (8000, 30000)
    concurrency: tuple[int, ...] = (1, 8, 16)
    thinking: tuple[str, ...] = ("off", "on")
    temperature: float = 0.0
    seed: int = 1  # of nonces and of whatever is drawn; both arms of a trial get the same
    request_timeout_s: float = 600.0
    cases: tuple[str, ...] = ()  # globs over case names; empty: all
    prompt_order: Literal["rotate", "first"] = "rotate"  # run by run the next prompt of its case, or always the first
    depths: tuple[int, ...] = (8000, 32000)  # long-input, prompt tokens
    budgets: tuple[int | None, ...] = (None, 512, 768, 1024, 1536)  # thinking; None: no budget is sent
    thinking_max_tokens: int = 2048  # of each answer of the thinking ruler, thought included
    system_prompt: str = ""  # the default system prompt whose effect the thinking ruler shows
    text: Path | None = None  # the user's own natural text; the shipped one when None
    quality: Quality = field(default_factory=Quality)


@dataclass(frozen=True)
class Bench:
    """One engine under measurement."""

    endpoint: Endpoint
    adapter: Adapter
    capabilities: Capabilities
    settings: Settings = Settings()
    progress: Progress = no_progress
    thinking_switch: str = ""  # chat_template | reasoning_effort | none; asked when empty
    supports: tuple[str, ...] = ()
    reads: Reads | None = None  # what a token reads of the memory; None where that is not known
    nonces: Nonces = field(default_factory=Nonces)  # one per run, from its seed and id, shared by all of its rulers
    learnt: Learnt = field(default_factory=Learnt)  # one per run, too
    answered: tuple[TaskRecord, ...] = ()  # by an interrupted run that goes on here
    keep: Keep = kept_nowhere
    others: tuple[Bench, ...] = ()  # the engines that mutual-load keeps busy meanwhile


@dataclass
class RulerResult:
    figures: list[Figure] = field(default_factory=list)
    requests: list[RequestRecord] = field(default_factory=list)
    elsewhere: dict[str, list[RequestRecord]] = field(default_factory=dict)  # by base URL: what other engines were sent
    warnings: list[Notice] = field(default_factory=list)
    tasks: list[TaskRecord] = field(default_factory=list)  # of the quality ruler, those of an interrupted run included


class Ruler(Protocol):
    """One measuring procedure with one definition."""

    name: str
    primary: tuple[str, ...]  # globs over `ruler/case/metric` that a trial decides by, unless it names its own

    async def measure(self, bench: Bench) -> RulerResult: ...
