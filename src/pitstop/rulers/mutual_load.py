"""mutual-load: each model measured while the others are kept busy in a loop with as many streams, roles exchanged.

Alone first, then together: retention per model, their sum, times to the first token. Cases name the model:
`qwen3.6-35b/c8/alone`, `qwen3.6-35b/c8/shared`; the sum is `all/c8`. See docs/rulers/mutual-load.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
            for streams in sorted(set(bench.settings.concurrency)):
                await _level(first, models, streams)
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


async def _level(first: Asker, models: list[Model], streams: int) -> None:
    alone = {model.name: await _measured(first, model, streams, "alone") for model in models}
    shared = {}
    for model in models:
        rest = [other for other in models if other is not model]
        max_tokens = first.bench.settings.max_tokens
        async with under_load([(one.asker, wishes(streams, max_tokens, one.state)) for one in rest]) as loads:
            shared[model.name] = await _measured(first, model, streams, "shared")
        for one, load in zip(rest, loads, strict=True):
            one.asker.tell_failures("load", load.replies)
    _compare(first, streams, alone, shared)


async def _measured(first: Asker, model: Model, streams: int, condition: str) -> Batches:
    settings, case = first.bench.settings, f"{model.name}/c{streams}/{condition}"
    await model.asker.ask_at_once("warm-up", wishes(streams, WARM_UP_TOK, model.state))
    runs = []
    for run in range(settings.runs):
        first.bench.progress(f"mutual-load {case}", run, settings.runs)
        runs.append(Batch(await model.asker.ask_at_once(case, wishes(streams, settings.max_tokens, model.state))))
    batches = Batches(streams, runs)
    detail = {"streams": streams, "thinking": model.state.name, "prompts_hash": prompts_hash()}
    measured = Measured(first.ruler, case, counted_by(batches.replies), detail=detail)
    first.result.figures.extend(batches.figures(measured))
    model.asker.tell_failures(case, batches.replies)
    return batches


def _compare(first: Asker, streams: int, alone: dict[str, Batches], shared: dict[str, Batches]) -> None:
    rates = {name: (alone[name].level.throughput_tok_s, shared[name].level.throughput_tok_s) for name in alone}
    for name, (before, beside) in rates.items():
        measured = Measured(first.ruler, f"{name}/c{streams}", "throughput shared / throughput alone")
        kept = [beside / before] if before and beside else []
        reason = "there is no throughput both alone and beside the others"
        first.result.figures.append(measured.figure("retention", kept, missing=reason))
    known = {name: (before, beside) for name, (before, beside) in rates.items() if before and beside}
    measured = Measured(first.ruler, f"all/c{streams}", "sum over models, each measured beside the others")
    if len(known) < len(rates):
        first.result.figures.append(measured.unavailable("throughput_tok_s", "not every model could be measured"))
        return
    total = sum(beside or 0.0 for _, beside in known.values())
    first.result.figures.append(measured.figure("throughput_tok_s", [total]))
    first.result.warnings.append(Notice(code="mutual-load", text=sentence(streams, known)))


def sentence(streams: int, rates: Mapping[str, tuple[float | None, float | None]]) -> str:
    """What the figures support: whether several models on one box bring throughput, or flexibility only."""
    total = sum(beside or 0.0 for _, beside in rates.values())
    best, most = max(((name, alone or 0.0) for name, (alone, _) in rates.items()), key=lambda pair: pair[1])
    numbers = f"together {total:.1f} tok/s at {streams} streams each, {best} alone {most:.1f}"
    if total <= most:
        return f"{len(rates)} models on this box bring flexibility, not throughput: {numbers}"
    gain = f"{total / most - 1:.0%}" if most else "some"
    return f"{len(rates)} models on this box bring {gain} more throughput than the fastest alone: {numbers}"


def _hand_over(first: Asker, others: list[Asker]) -> None:
    """What the other engines were sent is kept apart, for their counters are held against it."""
    for other in others:
        sent = first.result.elsewhere.setdefault(other.bench.endpoint.base_url, [])
        sent.extend(other.result.requests)
        first.result.warnings.extend(other.result.warnings)
