"""concurrency: N streams at once, total tokens over total time, prefill included; a sweep, its knee, and its end.

A level runs the first N of the short prompts, as the second report did with eight. The sweep stops early, with a
reason, where more streams buy nothing. See docs/rulers/concurrency.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.core.documents import Notice
from pitstop.rulers.acceptance import acceptance_over
from pitstop.rulers.asking import Asker, Wish, counted_by
from pitstop.rulers.batch import METRICS, Batch, Batches
from pitstop.rulers.figures import Measured
from pitstop.rulers.integrity import doubts_of_counters
from pitstop.rulers.learnt import ThinkingState
from pitstop.rulers.limit import held_against
from pitstop.rulers.prompts import all_prompts, prompts_hash
from pitstop.rulers.ruler import Bench, RulerResult
from pitstop.rulers.saturation import over_saturated
from pitstop.rulers.thinking_switch import find_switch
from pitstop.stats.knee import find_knee

WARM_UP_TOK = 16


class Concurrency:
    name = "concurrency"
    primary: tuple[str, ...] = ("concurrency/*/throughput_tok_s",)

    async def measure(self, bench: Bench) -> RulerResult:
        """`runs` batches a level, lowest level first. Figures: throughput, TTFT, TTFT p95, per-stream decode; knee."""
        async with Asker(bench, self.name) as asker:
            state = (await find_switch(asker)).first(bench.settings.thinking)
            levels = sorted(set(bench.settings.concurrency))
            await asker.ask_at_once("warm-up", wishes(levels[0] if levels else 1, WARM_UP_TOK, state))
            await _sweep(asker, levels, state)
            return asker.result


def wishes(streams: int, max_tokens: int, state: ThinkingState) -> list[Wish]:
    """The first `streams` of the short prompts, from the start again when there are more streams than prompts."""
    prompts = all_prompts()
    return [Wish(prompts[i % len(prompts)].text, max_tokens, state.extra) for i in range(streams)]


async def _sweep(asker: Asker, levels: Sequence[int], state: ThinkingState) -> None:
    measured: list[Batches] = []
    for index, streams in enumerate(levels):
        measured.append(await _level(asker, streams, state, index, len(levels)))
        reason = over_saturated([batches.level for batches in measured])
        if reason:
            _skip(asker, levels[index + 1 :], f"over-saturated: {reason}" if index else reason)
            break
    _tell_knee(asker, measured)


async def _level(asker: Asker, streams: int, state: ThinkingState, levels_done: int, levels: int) -> Batches:
    settings, case = asker.bench.settings, f"c{streams}"
    before = await asker.settled_counters()
    runs = []
    for run in range(settings.runs):
        asker.bench.progress(f"concurrency {case}", levels_done * settings.runs + run, levels * settings.runs)
        runs.append(Batch(await asker.ask_at_once(case, wishes(streams, settings.max_tokens, state))))
    batches = Batches(streams, runs)
    delta = await asker.counted_since(before, batches.replies)
    doubts = doubts_of_counters([reply.record for reply in batches.replies], delta)
    detail = {"streams": streams, "thinking": state.name, "prompts_hash": prompts_hash()}
    measured = Measured(asker.ruler, case, counted_by(batches.replies), doubts, detail)
    accepted, _ = acceptance_over(batches.replies, delta)
    figures = held_against(asker.bench.reads, batches.figures(measured), batches.replies, accepted)
    asker.result.figures.extend(figures)
    asker.tell_failures(case, batches.replies)
    return batches


def _skip(asker: Asker, levels: Sequence[int], reason: str) -> None:
    asker.result.warnings.append(Notice(code="sweep-stopped", text=f"the sweep was stopped: {reason}"))
    for streams in levels:
        measured = Measured(asker.ruler, f"c{streams}", "none")
        asker.result.figures.extend(measured.unavailable(metric, f"not measured, {reason}") for metric in METRICS)


def _tell_knee(asker: Asker, measured: Sequence[Batches]) -> None:
    levels = [batches.level for batches in measured]
    knee = find_knee([(level.streams, level.throughput_tok_s) for level in levels if level.throughput_tok_s])
    if knee is None:
        return
    detail = {"throughput_tok_s": knee.throughput, "peak_streams": knee.peak_concurrency, "worth": knee.worth}
    if not knee.reached:
        text = f"throughput still grew at {knee.concurrency} streams, the most that were tried: the knee lies beyond"
        asker.result.warnings.append(Notice(code="knee-beyond", text=text))
        return
    figure = Measured(asker.ruler, "sweep", "throughput_tok_s by level", detail=detail)
    asker.result.figures.append(figure.figure("knee_streams", [float(knee.concurrency)], unit="streams"))
