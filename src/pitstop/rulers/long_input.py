"""long-input: a natural text of ~8,000 and ~32,000 tokens, a summary in three sentences, up to 256 tokens out.

The time to the first token and the decode rate at depth, with a thinking budget of 64 where the server takes one. Cases
are named for their depth: `d8000`. See docs/rulers/long-input.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pitstop.client.chat import Reply
from pitstop.core.documents import Figure, Notice, Status
from pitstop.engines.adapter import Counters
from pitstop.engines.since import since
from pitstop.rulers.acceptance import acceptance_figures, acceptance_over
from pitstop.rulers.asking import Asker, Wish, counted_by
from pitstop.rulers.budgets import budget_extra, why_no_budget
from pitstop.rulers.calibrate import Calibrated, Unfit, calibrate, framed
from pitstop.rulers.coldness import Coldness, judge, worst
from pitstop.rulers.figures import Measured
from pitstop.rulers.integrity import doubts_of_counters
from pitstop.rulers.language import language_of
from pitstop.rulers.learnt import ThinkingState
from pitstop.rulers.limit import held_against
from pitstop.rulers.ruler import Bench, RulerResult
from pitstop.rulers.single_stream import SingleStream
from pitstop.rulers.text import NaturalText, load_text
from pitstop.rulers.thinking_switch import find_switch

MAX_TOKENS = 256
BUDGET_TOK = 64
_ASKED = {
    "de": "Fasse den Text oben in genau drei Sätzen zusammen.",
    "en": "Summarise the text above in exactly three sentences.",
}
_DEPENDS_ON_COLDNESS = frozenset({"ttft_s", "ttfa_s", "throughput_tok_s"})


class LongInput:
    name = "long-input"
    primary: tuple[str, ...] = ("long-input/*/ttft_s", "long-input/*/decode_tok_s")

    async def measure(self, bench: Bench) -> RulerResult:
        """`runs` requests a depth, after the one that calibrated it. Figures: as decode's; acceptance where known."""
        text = load_text(bench.settings.text)
        async with Asker(bench, self.name) as asker:
            asked = await _asked(asker, text)
            for done, depth in enumerate(bench.settings.depths):
                asker.result.figures.extend(await _measure(asker, asked, depth, done))
            return asker.result


@dataclass(frozen=True)
class _Asked:
    """What every depth has in common."""

    text: NaturalText
    instruction: str
    state: ThinkingState
    extra: dict[str, Any]
    detail: dict[str, Any]


async def _asked(asker: Asker, text: NaturalText) -> _Asked:
    state = (await find_switch(asker)).first(("on", "off"))
    refusal = await why_no_budget(asker) if state.name == "on" else ""
    budget = BUDGET_TOK if state.name == "on" and not refusal else None
    if refusal:
        notice = (
            f"the thinking budget of {BUDGET_TOK} was refused, so thinking is limited by the reply alone: {refusal}"
        )
        asker.result.warnings.append(Notice(code="budget-refused", text=notice))
    instruction = _ASKED["de" if language_of(text.text[:2000]).code == "de" else "en"]
    detail = {
        "text": text.name, "text_sha256": text.sha256[:16], "thinking": state.name, "budget": budget,
        "max_tokens": MAX_TOKENS,
    }  # fmt: skip
    return _Asked(text, instruction, state, {**state.extra, **budget_extra(budget)}, detail)


async def _measure(asker: Asker, asked: _Asked, depth_tok: int, depths_done: int) -> list[Figure]:
    case, settings = f"d{depth_tok}", asker.bench.settings
    in_all = len(settings.depths) * (settings.runs + 1)
    done = depths_done * (settings.runs + 1)
    asker.bench.progress(f"long-input {case}, warm-up", done, in_all)
    size = await calibrate(
        asker, asked.text, depth_tok, case=case, reserve_tok=MAX_TOKENS, instruction=asked.instruction
    )
    if isinstance(size, Unfit):
        measured = Measured(asker.ruler, case, "none", detail=asked.detail)
        return [measured.unavailable(metric, size.reason) for metric in ("ttft_s", "decode_tok_s")]
    before = await asker.settled_counters()
    replies, coldness = [], []
    for run in range(settings.runs):
        asker.bench.progress(f"long-input {case}", done + 1 + run, in_all)
        reply, cold = await _run(asker, case, asked, size)
        replies.append(reply)
        coldness.append(cold)
    asker.tell_failures(case, replies)
    delta = await asker.counted_since(before, replies)
    return _figures(asker, case, asked, size, replies, coldness, delta)


async def _run(asker: Asker, case: str, asked: _Asked, size: Calibrated) -> tuple[Reply, Coldness]:
    before = await asker.counters()
    reply = await asker.ask(case, Wish(framed(size.text, asked.instruction), MAX_TOKENS, asked.extra))
    delta = since(before, await asker.counters())
    return reply, judge(reply.record, delta, asker.bench.capabilities.cache_block_tok)


def _figures(
    asker: Asker,
    case: str,
    asked: _Asked,
    size: Calibrated,
    replies: Sequence[Reply],
    coldness: Sequence[Coldness],
    delta: Counters,
) -> list[Figure]:
    doubts = doubts_of_counters([reply.record for reply in replies], delta)
    detail = {**asked.detail, "prompt_tokens": size.prompt_tokens}
    measured = Measured(asker.ruler, case, counted_by(replies), (*doubts, *_repetition(asked.text)), detail)
    good = [cold for reply, cold in zip(replies, coldness, strict=True) if reply.ok]
    figures = SingleStream(measured, replies).figures()
    if good:
        figures = [_as_cold_as(figure, worst(good)) for figure in figures]
    found, source = acceptance_over(replies, delta)
    figures = held_against(asker.bench.reads, figures, replies, found)
    return [*figures, *(acceptance_figures(measured, found, source) if found.known else [])]


def _repetition(text: NaturalText) -> tuple[str, ...]:
    if not text.repeats_itself:
        return ()
    return (f"{text.repetition:.0%} of {text.name} repeats itself, which speculation guesses almost free",)


def _as_cold_as(figure: Figure, cold: Coldness) -> Figure:
    """A prompt from the cache spoils the times that contain its prefill; the decode rate at depth stays what it is."""
    if cold.status is Status.OK or figure.value is None or figure.metric not in _DEPENDS_ON_COLDNESS:
        return figure
    reason = "; ".join(part for part in (cold.reason, figure.reason) if part)
    return msgspec.structs.replace(figure, status=cold.status, reason=reason)
