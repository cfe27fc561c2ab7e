"""speculation: how much of what was drafted is accepted, and how much that depends on the text.

Prose, code and a sentence said over and over, side by side: the second report's draft model had 55 % accepted on short
prompts, 37 to 40 % on a novel, and nearly all of it on a repeated sentence. See docs/rulers/speculation.md.
"""

from __future__ import annotations

from pitstop.rulers.acceptance import acceptance_figures, acceptance_over
from pitstop.rulers.asking import Asker, Wish, counted_by
from pitstop.rulers.figures import Measured
from pitstop.rulers.integrity import doubts_of_counters
from pitstop.rulers.learnt import ThinkingState
from pitstop.rulers.limit import held_against
from pitstop.rulers.prompts import select
from pitstop.rulers.ruler import Bench, RulerResult
from pitstop.rulers.single_stream import SingleStream
from pitstop.rulers.thinking_switch import find_switch

CASES = ("prose", "code", "repeated")
SENTENCE = "Der Kran im Hafen hebt am Morgen die schweren Kisten auf das wartende Schiff. "
REPEATS = 40
CONTINUE = "Schreibe diesen Text unverändert noch einmal ab."
_METRICS = frozenset({"decode_tok_s", "tokens_per_event"})


class Speculation:
    name = "speculation"
    primary: tuple[str, ...] = ("speculation/*/acceptance_length",)

    async def measure(self, bench: Bench) -> RulerResult:
        """`runs` requests a text. Figures: acceptance_rate, acceptance_length, decode_tok_s, tokens_per_event."""
        async with Asker(bench, self.name) as asker:
            state = (await find_switch(asker)).first(bench.settings.thinking)
            for done, case in enumerate(CASES):
                await _measure(asker, case, state, done)
            return asker.result


def text_of(case: str, run: int) -> str:
    """The prompt of one run: the German prompts of the kind in turn, or the repeated sentence."""
    if case == "repeated":
        return SENTENCE * REPEATS + "\n\n" + CONTINUE
    prompts = select(language="de", kind="code" if case == "code" else "prose")
    return prompts[run % len(prompts)].text


async def _measure(asker: Asker, case: str, state: ThinkingState, cases_done: int) -> None:
    settings = asker.bench.settings
    before = await asker.settled_counters()
    replies = []
    for run in range(settings.runs):
        asker.bench.progress(f"speculation {case}", cases_done * settings.runs + run, len(CASES) * settings.runs)
        replies.append(await asker.ask(case, Wish(text_of(case, run), settings.max_tokens, state.extra)))
    delta = await asker.counted_since(before, replies)
    doubts = doubts_of_counters([reply.record for reply in replies], delta)
    measured = Measured(asker.ruler, case, counted_by(replies), doubts, {"thinking": state.name})
    accepted, counted = acceptance_over(replies, delta)
    asker.result.figures.extend(acceptance_figures(measured, accepted, counted))
    stream = held_against(asker.bench.reads, SingleStream(measured, replies).figures(), replies, accepted)
    asker.result.figures.extend(figure for figure in stream if figure.metric in _METRICS)
    asker.tell_failures(case, replies)
