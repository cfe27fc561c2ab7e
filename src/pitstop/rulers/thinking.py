"""thinking: what a budget for reasoning does to answers, whether this server keeps it, and which one to send.

Ten German prompts under each budget, up to `thinking_max_tokens`: finished by itself, cut off, empty, language, median
time, tokens. Then the language with and without a default system prompt. See docs/rulers/thinking.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pitstop.client.chat import Reply
from pitstop.core.documents import Notice
from pitstop.rulers.asking import Asker, Wish, counted_by
from pitstop.rulers.budget_sweep import BudgetRow, enforcement_of, recommend
from pitstop.rulers.budgets import budget_extra, why_no_budget
from pitstop.rulers.figures import Measured
from pitstop.rulers.learnt import ThinkingState
from pitstop.rulers.prompts import Language, select
from pitstop.rulers.ruler import Bench, RulerResult
from pitstop.rulers.thinking_answers import attempt_of, row_figures, wrong_language
from pitstop.rulers.thinking_switch import find_switch

ASKED_LANGUAGE: Language = "de"
SYSTEM_PROMPT = "Antworte immer auf Deutsch."  # what the second report's gateway sets


class Thinking:
    name = "thinking"
    primary: tuple[str, ...] = ()  # it recommends; it decides no trial

    async def measure(self, bench: Bench) -> RulerResult:
        """One reply a prompt and budget. Figures: shares, median time, tokens, and the budget to recommend."""
        async with Asker(bench, self.name) as asker:
            switch = await find_switch(asker)
            thinks = next((state for state in switch.states if state.name == "on"), None)
            base = await _sweep(asker, thinks) if thinks else await _without_thinking(asker, switch.states[0])
            await _languages(asker, base)
            return asker.result


@dataclass(frozen=True)
class _Tried:
    row: BudgetRow
    replies: Sequence[Reply]
    extra: dict[str, Any]


async def _without_thinking(asker: Asker, state: ThinkingState) -> _Tried:
    reason = "this model shows no reasoning, so there is nothing to limit"
    measured = Measured(asker.ruler, "budgets", "none")
    asker.result.figures.append(measured.unavailable("recommended_budget_tok", reason, unit="tok"))
    return await _ask_all(asker, "system-default", None, state.extra, "")


async def _sweep(asker: Asker, state: ThinkingState) -> _Tried:
    """Every budget in turn. The row that the language is shown for: the recommended one, else the last."""
    refusal, settings = await why_no_budget(asker), asker.bench.settings
    tried = []
    for done, budget in enumerate(settings.budgets):
        asker.bench.progress(f"thinking {_case(budget)}", done, len(settings.budgets))
        if budget is not None and refusal:
            _refused(asker, budget, refusal)
            continue
        one = await _ask_all(asker, _case(budget), budget, {**state.extra, **budget_extra(budget)}, "")
        measured = Measured(asker.ruler, _case(budget), counted_by(one.replies))
        asker.result.figures.extend(row_figures(measured, one.row, one.replies))
        tried.append(one)
    if not tried:
        tried.append(await _ask_all(asker, _case(None), None, state.extra, ""))
    return _advise(asker, tried, refusal)


def _advise(asker: Asker, tried: Sequence[_Tried], refusal: str) -> _Tried:
    rows = [one.row for one in tried]
    enforced = enforcement_of(rows)
    advice = recommend(rows, enforced)
    detail = {"enforced": enforced.enforcement.value, "enforced_why": enforced.reason}
    measured = Measured(asker.ruler, "budgets", "usage, client clock, py3langid", detail=detail)
    reason = f"the server refuses budgets: {refusal}" if refusal else advice.reason
    if refusal or advice.refused:
        asker.result.figures.append(measured.unavailable("recommended_budget_tok", reason, unit="tok"))
    elif advice.budget_tok is None:  # none, which is not a budget of zero
        none = {"send_a_budget": False}
        asker.result.figures.append(
            measured.unavailable("recommended_budget_tok", f"send none: {reason}", unit="tok", detail=none)
        )
    else:
        why = {"why": advice.reason, "send_a_budget": True}
        asker.result.figures.append(
            measured.figure("recommended_budget_tok", [float(advice.budget_tok)], unit="tok", detail=why)
        )
    asker.result.warnings.append(Notice(code="thinking-recommendation", text=reason))
    return next((one for one in tried if not advice.refused and one.row.budget_tok == advice.budget_tok), tried[-1])


async def _ask_all(asker: Asker, case: str, budget: int | None, extra: dict[str, Any], system: str) -> _Tried:
    """The nonce goes into the user message here, so that the template's own system prompt has its say."""
    limit, replies = asker.bench.settings.thinking_max_tokens, []
    for prompt in select(language=ASKED_LANGUAGE):
        wish = Wish(prompt.text, limit, extra, system=system, keep_default_system=True)
        replies.append(await asker.ask(case, wish))
    asker.tell_failures(case, replies)
    return _Tried(
        BudgetRow(budget, [attempt_of(reply, ASKED_LANGUAGE) for reply in replies if reply.ok]), replies, extra
    )


def _refused(asker: Asker, budget: int, refusal: str) -> None:
    measured = Measured(asker.ruler, _case(budget), "none")
    asker.result.figures.append(measured.unavailable("finished_share", f"budget refused: {refusal}", unit="fraction"))


def _case(budget: int | None) -> str:
    return "no-budget" if budget is None else f"budget{budget}"


async def _languages(asker: Asker, base: _Tried) -> None:
    """The language of the answers with the template's own system prompt, and with one that asks for German."""
    system = asker.bench.settings.system_prompt or SYSTEM_PROMPT
    with_prompt = await _ask_all(asker, "system-set", base.row.budget_tok, base.extra, system)
    for case, one, prompt in (("system-default", base, ""), ("system-set", with_prompt, system)):
        detail = {"system_prompt": prompt, "budget": base.row.budget_tok}
        measured = Measured(asker.ruler, case, "py3langid", detail=detail)
        asker.result.figures.append(wrong_language(measured, one.row, one.replies))
