"""decode: tokens after the first token event, over the time from that event to the last one, in a single stream.

Prose and code, German and English, thinking on and off: `code/de/think-on`. The token counts are the server's own
(`usage`); where it says how many tokens the first event carried they are subtracted exactly, and where it does not the
figure's interval says what they may have been. See docs/rulers/decode.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from pitstop.client.chat import Reply
from pitstop.core.documents import Figure
from pitstop.rulers.acceptance import acceptance_over
from pitstop.rulers.asking import Asker, Wish, counted_by
from pitstop.rulers.figures import Measured
from pitstop.rulers.integrity import doubts_of_counters
from pitstop.rulers.learnt import ThinkingState
from pitstop.rulers.limit import held_against
from pitstop.rulers.prompts import Kind, Language, Prompt, prompts_hash, select
from pitstop.rulers.ruler import Bench, RulerResult, Settings
from pitstop.rulers.single_stream import SingleStream
from pitstop.rulers.thinking_switch import find_switch, thought

WARM_UP_TOK = 64
_KINDS: tuple[Kind, ...] = ("prose", "code")
_LANGUAGES: tuple[Language, ...] = ("de", "en")


@dataclass(frozen=True)
class Case:
    """One kind of text, one language, one state of thinking."""

    kind: Kind
    language: Language
    thinking: ThinkingState

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.language}/think-{self.thinking.name}"

    def prompt(self, run: int, settings: Settings) -> Prompt:
        """Run by run the next prompt of the case, so that three runs see three texts; or always the first."""
        prompts = select(language=self.language, kind=self.kind)
        return prompts[run % len(prompts) if settings.prompt_order == "rotate" else 0]


class Decode:
    name = "decode"
    primary: tuple[str, ...] = ("decode/*/decode_tok_s",)

    async def measure(self, bench: Bench) -> RulerResult:
        """One warm-up, then `runs` requests a case. Figures: see SingleStream."""
        async with Asker(bench, self.name) as asker:
            switch = await find_switch(asker)
            every = _every_case(switch.chosen(bench.settings.thinking))
            cases = [case for case in every if _wanted(case.name, bench.settings.cases)]
            if not cases:
                asker.result.figures.append(_no_case(bench.settings.cases, every))
                return asker.result
            await _warm_up(asker, cases[0])
            for done, case in enumerate(cases):
                await _measure(asker, case, switch.kind, done, len(cases))
            return asker.result


def _every_case(states: tuple[ThinkingState, ...]) -> list[Case]:
    return [Case(kind, language, state) for state in states for kind in _KINDS for language in _LANGUAGES]


def _wanted(name: str, globs: tuple[str, ...]) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)


def _no_case(globs: tuple[str, ...], every: list[Case]) -> Figure:
    """Nothing to measure is said, not passed over: a misspelt glob, or a state of thinking that this model lacks."""
    reason = f"no case of this model matches; there are {', '.join(case.name for case in every)}"
    return Measured("decode", ", ".join(globs), "none").unavailable("decode_tok_s", reason)


async def _warm_up(asker: Asker, case: Case) -> None:
    """The first request of a boot compiles kernels and fills caches; it is listed, and not counted."""
    settings = asker.bench.settings
    limit = min(WARM_UP_TOK, settings.max_tokens)
    await asker.ask("warm-up", Wish(case.prompt(0, settings).text, limit, case.thinking.extra))


async def _measure(asker: Asker, case: Case, switch_kind: str, cases_done: int, cases_in_all: int) -> None:
    settings = asker.bench.settings
    before = await asker.settled_counters()
    replies = []
    for run in range(settings.runs):
        done = cases_done * settings.runs + run
        asker.bench.progress(f"decode {case.name}", done, cases_in_all * settings.runs)
        text = case.prompt(run, settings).text
        replies.append(await asker.ask(case.name, Wish(text, settings.max_tokens, case.thinking.extra)))
    delta = await asker.counted_since(before, replies)
    counter_doubts = doubts_of_counters([reply.record for reply in replies], delta)
    doubts = (*counter_doubts, *_thinking_doubts(case, replies))
    detail = {
        "prompts": [case.prompt(run, settings).id for run in range(settings.runs)],
        "prompts_hash": prompts_hash(),
        "max_tokens": settings.max_tokens,
        "thinking_switch": switch_kind,
    }
    measured = Measured(asker.ruler, case.name, counted_by(replies), doubts, detail)
    figures, (accepted, _) = SingleStream(measured, replies).figures(), acceptance_over(replies, delta)
    asker.result.figures.extend(held_against(asker.bench.reads, figures, replies, accepted))
    asker.tell_failures(case.name, replies)


def _thinking_doubts(case: Case, replies: list[Reply]) -> tuple[str, ...]:
    """Whether each reply did what its case is named for. A model asked to think may answer at once, now and then."""
    good = [reply for reply in replies if reply.record.ok]
    thinking = sum(thought(reply) for reply in good)
    if case.thinking.name == "off" and thinking:
        return (f"thinking was asked off, but {thinking} of {len(good)} replies show reasoning",)
    if case.thinking.name == "on" and good and not thinking:
        return ("thinking was asked on, but no reply shows reasoning",)
    return ()
