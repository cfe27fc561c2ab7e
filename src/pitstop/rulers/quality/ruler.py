"""quality: every task asked `repeats` times, judged, and kept as soon as it is judged. See docs/rulers/quality.md."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from pitstop.core.documents import Notice, TaskRecord
from pitstop.core.errors import EngineFailed, PitstopError
from pitstop.rulers.asking import Asker, Wish
from pitstop.rulers.quality.conversation import Manner, Said, budget_for, converse
from pitstop.rulers.quality.figures import no_tasks, score_figures
from pitstop.rulers.quality.keys import CodeKey
from pitstop.rulers.quality.outcome import Outcome, judge, without_sandbox
from pitstop.rulers.quality.parallel_check import check_parallel
from pitstop.rulers.quality.records import record_of, unasked
from pitstop.rulers.quality.sandbox import Box, find_sandbox
from pitstop.rulers.quality.task import Instance
from pitstop.rulers.quality.task_set import TaskSet, task_set
from pitstop.rulers.ruler import Bench, RulerResult
from pitstop.rulers.thinking_switch import find_switch

_SLOWEST_TOK_S = 5.0  # a reply of the whole budget at this rate is waited for
_UNREACHABLE_IN_A_ROW = 3  # then the engine is gone, and what is left is not its answers
_SANDBOXES = max(1, min(2, os.cpu_count() or 1))  # at once: they must not crowd out an engine on the same box

Pending = tuple[Instance, int]  # a task, and which repeat of it


class Quality:
    name = "quality"
    primary: tuple[str, ...] = ("quality/all/score",)

    async def measure(self, bench: Bench) -> RulerResult:
        """`repeats` attempts a task. Figures: the score, shares by kind and level, and every outcome counted apart."""
        drawn = task_set(bench.settings)
        async with Asker(_patient(bench), self.name) as asker:
            if not drawn.instances:
                asker.result.figures.append(no_tasks(drawn.name))
                return asker.result
            box = await _sandbox(asker, drawn)
            manner = await _manner(asker, drawn)
            run = _Run(asker, manner, box)
            pending = _pending(bench, drawn)
            await run.ask([one for one in pending if not _unjudgeable(one[0], box)])
            run.records += [unasked(*one, without_sandbox(str(box))) for one in pending if _unjudgeable(one[0], box)]
            if bench.settings.quality.parallel > 1:
                await check_parallel(asker, drawn.instances, manner)
            asker.result.tasks = _in_order(drawn, [*bench.answered, *run.records])
            asker.result.figures += score_figures(drawn, asker.result.tasks, bench.settings.quality)
            _tell_failures(asker)
            return asker.result


def _patient(bench: Bench) -> Bench:
    budget_s = bench.settings.quality.max_tokens / _SLOWEST_TOK_S
    limit_s = max(bench.settings.request_timeout_s, budget_s)
    return replace(bench, settings=replace(bench.settings, request_timeout_s=limit_s))


async def _sandbox(asker: Asker, drawn: TaskSet) -> Box | str:
    """Found before the first question, so that a person hears at once what will not be judged."""
    coding = sum(isinstance(one.key, CodeKey) for one in drawn.instances)
    if not coding:
        return "there is no code to run"
    found = await find_sandbox(asker.bench.settings.quality.sandbox)
    if isinstance(found, str):
        tasks = "1 coding task is" if coding == 1 else f"{coding} coding tasks are"
        text = f"{tasks} unavailable, and not asked, for hidden tests are never run on the host: {found}"
        asker.result.warnings.append(Notice(code="no-sandbox", text=text))
    return found


async def _manner(asker: Asker, drawn: TaskSet) -> Manner:
    wanted, context_tok = asker.bench.settings.quality, asker.bench.capabilities.context_tok
    state = (await find_switch(asker)).first((wanted.thinking,))
    if state.name != wanted.thinking:
        text = f"thinking {wanted.thinking} was asked for, and this model is measured with thinking {state.name}"
        asker.result.warnings.append(Notice(code="quality-thinking", text=text))
    seeded = f"{asker.bench.settings.seed}/{asker.bench.nonces.run_id}" if await _takes_seeds(asker) else ""
    manner = Manner(wanted.temperature, wanted.max_tokens, state.extra, context_tok, seeded)
    _tell_budget(asker, manner, drawn.instances)
    return manner


def _tell_budget(asker: Asker, manner: Manner, instances: Sequence[Instance]) -> None:
    """A warning where the context leaves less than the budget."""
    least = min(budget_for(manner, one.prompt, str(one.key)) for one in instances)
    if least < manner.max_tokens:
        text = (
            f"the context of {manner.context_tok} tokens leaves as few as {least} of the {manner.max_tokens} asked for"
        )
        asker.result.warnings.append(Notice(code="quality-budget", text=text))


async def _takes_seeds(asker: Asker) -> bool:
    """Whether the server takes a seed. Without seeds two boots may draw the same, and count as one draw."""
    reply = await asker.ask("hello", Wish("Hi.", 1, {"seed": 1}))
    if reply.ok or reply.refusal is None:
        return True
    plain = await asker.ask("hello", Wish("Hi.", 1))
    if plain.ok:
        text = f"the server takes no seed ({reply.record.error}), so it draws as it likes"
        asker.result.warnings.append(Notice(code="quality-seed", text=text))
    return not plain.ok


def _tell_failures(asker: Asker) -> None:
    """They count against the score, and a score of a server that refuses all requests says nothing of its answers."""
    tasks = asker.result.tasks
    failed = [one.reason for one in tasks if one.outcome == Outcome.FAILED]
    if failed:
        text = f"{len(failed)} of {len(tasks)} attempts failed, and count as not right: {failed[0]}"
        asker.result.warnings.append(Notice(code="requests-failed", text=text))


def _pending(bench: Bench, drawn: TaskSet) -> list[Pending]:
    """What is still to be asked; a whole repeat before the next, so that an interrupted run has all tasks first."""
    done = {(one.task, one.repeat) for one in bench.answered}
    repeats = range(bench.settings.quality.repeats)
    return [(one, repeat) for repeat in repeats for one in drawn.instances if (one.name, repeat) not in done]


def _unjudgeable(instance: Instance, box: Box | str) -> bool:
    return isinstance(instance.key, CodeKey) and isinstance(box, str)


def _in_order(drawn: TaskSet, records: Sequence[TaskRecord]) -> list[TaskRecord]:
    places = {one.name: place for place, one in enumerate(drawn.instances)}
    return sorted((one for one in records if one.task in places), key=lambda one: (one.repeat, places[one.task]))


@dataclass
class _Run:
    """Asks in `parallel` lines; each answer is judged while the next question is already out."""

    asker: Asker
    manner: Manner
    box: Box | str

    def __post_init__(self) -> None:
        self.records: list[TaskRecord] = []
        self._unreachable = 0
        self._doubtful: list[tuple[Instance, int, Said]] = []
        self._sandboxes = asyncio.Semaphore(_SANDBOXES)

    async def ask(self, pending: Sequence[Pending]) -> None:
        """All of it. EngineFailed when the engine is gone; what was judged until then is kept."""
        questions = iter(pending)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.asker.bench.settings.quality.parallel):
                    group.create_task(self._line(group, questions, len(pending)))
        except BaseExceptionGroup as several:
            raise _first(several) from several
        for failed in self._doubtful:
            await self._judge(*failed)

    async def _line(self, group: asyncio.TaskGroup, questions: Iterator[Pending], total: int) -> None:
        for instance, repeat in questions:
            self.asker.bench.progress(f"quality {instance.name}", len(self.records), total)
            said = await self._ask_within_context(instance, repeat)
            self._count(said, total)
            for one in self._to_judge(instance, repeat, said):
                group.create_task(self._judge(*one))

    def _to_judge(self, instance: Instance, repeat: int, said: Said) -> list[tuple[Instance, int, Said]]:
        """A request that failed is a result once the engine answers again; were it gone, the task would be missing."""
        if said.unreachable:
            return []
        self._doubtful.append((instance, repeat, said))
        if said.error:
            return []
        told, self._doubtful = self._doubtful, []
        return told

    async def _ask_within_context(self, instance: Instance, repeat: int) -> Said:
        """A server that does not tell its context tells it when it refuses the budget: then what it leaves is asked."""
        asked = self.manner.context_tok
        said = await converse(self.asker, instance, repeat, self.manner)
        if not said.context_tok or (asked is not None and asked <= said.context_tok):
            return said
        if self.manner.context_tok == asked:  # else another line has learnt it meanwhile
            self.manner = replace(self.manner, context_tok=said.context_tok)
            _tell_budget(self.asker, self.manner, [instance])
        return await converse(self.asker, instance, repeat, self.manner)

    async def _judge(self, instance: Instance, repeat: int, said: Said) -> None:
        async with self._sandboxes:
            begun = perf_counter()
            judged = await judge(instance, said, self.box)
        record = record_of(instance, repeat, said, judged, perf_counter() - begun)
        self.records.append(record)
        if judged.outcome is not Outcome.UNAVAILABLE:
            self.asker.bench.keep(record)

    def _count(self, said: Said, total: int) -> None:
        self._unreachable = self._unreachable + 1 if said.unreachable else 0
        if self._unreachable >= _UNREACHABLE_IN_A_ROW:
            raise EngineFailed(
                f"the engine stopped answering after {len(self.records)} of {total} tasks: {said.error}.",
                hint="With --out FILE, `--resume` goes on with the tasks that are missing.",
            )


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The failure that a person can read, else whichever came first."""
    inner = [one for one in several.exceptions if not isinstance(one, BaseExceptionGroup)]
    return next((one for one in inner if isinstance(one, PitstopError)), inner[0] if inner else several)
