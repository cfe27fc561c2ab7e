"""mutual-load: each model measured while the others are kept busy in a loop with as many streams, roles exchanged.

Alone and together by turns, run by run: retention per model, their sum, times to the first token. Cases name the model:
`qwen3.6-35b/c8/alone`, `qwen3.6-35b/c8/shared`; the sum is `all/c8`. See docs/rulers/mutual-load.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from pitstop.client.endpoint import Endpoint
from pitstop.core.documents import Notice
from pitstop.rulers.asking import Asker, counted_by
from pitstop.rulers.batch import Batch, Batches
from pitstop.rulers.concurrency import WARM_UP_TOK, wishes
from pitstop.rulers.figures import Measured
from pitstop.rulers.learnt import ThinkingState
from pitstop.rulers.load import under_load
from pitstop.rulers.prompts import prompts_hash
from pitstop.rulers.retention import Taken, notice, retention, total
from pitstop.rulers.ruler import Bench, RulerResult
from pitstop.rulers.thinking_switch import find_switch


@dataclass(frozen=True)
class Model:
    """One of the engines that share the box, by its served name; by name and address where two serve the same."""

    name: str
    asker: Asker
    state: ThinkingState


class MutualLoad:
    name = "mutual-load"
    primary: tuple[str, ...] = ("mutual-load/*/retention",)

    async def measure(self, bench: Bench) -> RulerResult:
        """`runs` batches a level, model and condition. Figures: throughput and TTFT, retention, sum."""
        async with AsyncExitStack() as stack:
            askers = [await stack.enter_async_context(Asker(one, self.name)) for one in (bench, *bench.others)]
            first = askers[0]
            if len(askers) < 2:
                reason = "only one engine is up: name the others that share this box"
                first.result.figures.append(Measured(self.name, "all", "none").unavailable("retention", reason))
                return first.result
            names = names_of([one.bench.endpoint for one in askers])
            states = [(await find_switch(one)).first(bench.settings.thinking) for one in askers]
            models = [Model(*known) for known in zip(names, askers, states, strict=True)]
            levels = sorted(set(bench.settings.concurrency))
            turns = 2 * len(models) * bench.settings.runs
            for index, streams in enumerate(levels):
                await _level(first, models, streams, index * turns, len(levels) * turns)
            _hand_over(first, askers[1:])
            return first.result


def names_of(endpoints: Sequence[Endpoint]) -> list[str]:
    """What the models are called in cases: two engines may serve the same one, an old version beside a new."""
    served = [endpoint.model for endpoint in endpoints]
    return [
        endpoint.model
        if served.count(endpoint.model) == 1
        else f"{endpoint.model}@{urlsplit(endpoint.base_url).netloc}"
        for endpoint in endpoints
    ]


async def _level(first: Asker, models: list[Model], streams: int, done: int, in_all: int) -> None:
    """Alone and beside the others by turns: a box that gets slower or faster meanwhile does so for both."""
    taken = {model.name: Taken() for model in models}
    turns = [(model, shared) for shared in (False, True) for model in models] * first.bench.settings.runs
    for turn, (model, shared) in enumerate(turns):
        case = _case(model, streams, shared=shared)
        first.bench.progress(f"mutual-load {case}", done + turn, in_all)
        rest = [other for other in models if shared and other is not model]
        await _take(model, rest, streams, taken[model.name])
    for model in models:
        _tell(first, model, streams, taken[model.name])
    rates = {name: one.rates for name, one in taken.items()}
    source = "sum over models, each measured beside the others"
    together = total(Measured(first.ruler, f"all/c{streams}", source), rates)
    first.result.figures.append(together)
    if together.value is not None:
        first.result.warnings.append(notice(streams, rates))


async def _take(model: Model, rest: list[Model], streams: int, taken: Taken) -> None:
    """One batch, with all of `rest` kept busy meanwhile."""
    max_tokens = model.asker.bench.settings.max_tokens
    async with under_load([(one.asker, wishes(streams, max_tokens, one.state)) for one in rest]) as loads:
        await model.asker.ask_at_once("warm-up", wishes(streams, WARM_UP_TOK, model.state))
        case = _case(model, streams, shared=bool(rest))
        batch = Batch(await model.asker.ask_at_once(case, wishes(streams, max_tokens, model.state)))
    (taken.shared if rest else taken.alone).append(batch)
    for load in loads:
        taken.load_requests += len(load.replies)
        taken.load_errors += [reply.record.error for reply in load.replies if not reply.ok]


def _tell(first: Asker, model: Model, streams: int, taken: Taken) -> None:
    """The figures of both conditions, and what is left."""
    detail = {"streams": streams, "thinking": model.state.name, "prompts_hash": prompts_hash()}
    for batches, shared in ((taken.alone, False), (taken.shared, True)):
        runs, case = Batches(streams, batches), _case(model, streams, shared=shared)
        doubts = taken.load_doubts if shared else ()
        first.result.figures.extend(runs.figures(Measured(first.ruler, case, counted_by(runs.replies), doubts, detail)))
        model.asker.tell_failures(case, runs.replies)
    if taken.load_errors:
        text = f"mutual-load {_case(model, streams, shared=True)}: {taken.load_doubts[0]}"
        first.result.warnings.append(Notice(code="requests-failed", text=text))
    measured = Measured(first.ruler, f"{model.name}/c{streams}", "throughput shared / throughput alone")
    first.result.figures.append(retention(measured, taken))


def _case(model: Model, streams: int, *, shared: bool) -> str:
    return f"{model.name}/c{streams}/{'shared' if shared else 'alone'}"


def _hand_over(first: Asker, others: list[Asker]) -> None:
    """What the other engines were sent is kept apart, for their counters are held against it."""
    for other in others:
        sent = first.result.elsewhere.setdefault(other.bench.endpoint.base_url, [])
        sent.extend(other.result.requests)
        first.result.warnings.extend(other.result.warnings)
