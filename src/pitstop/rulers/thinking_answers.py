"""Answers of the thinking ruler: how each ended and in what language, and the figures of those under one budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pitstop.client.chat import Reply
from pitstop.core.documents import Figure
from pitstop.rulers.budget_sweep import Attempt, BudgetRow, Outcome
from pitstop.rulers.figures import Measured, failure_reason
from pitstop.rulers.language import language_of
from pitstop.rulers.unsplit_thought import without_thought
from pitstop.stats.proportions import wilson


def attempt_of(reply: Reply, asked_language: str) -> Attempt:
    """How one reply ended and what language it is in."""
    answer = without_thought(reply.answer)
    record = reply.record
    language = language_of(answer).code
    return Attempt(
        outcome=_outcome(answer, record.finish_reason),
        e2e_s=record.e2e_s or 0.0,
        completion_tok=record.completion_tokens,
        reasoning_tok=reasoning_tokens(reply),
        language_ok=None if language is None else language == asked_language,
    )


def reasoning_tokens(reply: Reply) -> int | None:
    """What the usage says; else the running count at the last reasoning event; else not known."""
    if reply.record.reasoning_tokens is not None:
        return reply.record.reasoning_tokens
    totals = [event.total for event in reply.events if event.channel == "reasoning"]
    if not totals:
        return 0 if reply.decode.exact and not reply.reasoning else None
    return totals[-1]


def _outcome(answer: str, finish_reason: str | None) -> Outcome:
    if finish_reason == "length":
        return Outcome.CUT_OFF if answer else Outcome.EMPTY
    return Outcome.FINISHED if answer else Outcome.EMPTY


def row_figures(measured: Measured, row: BudgetRow, replies: Sequence[Reply]) -> list[Figure]:
    """Shares of all replies that did not fail, with Wilson's interval; time and tokens with every sample."""
    if not row.attempts:
        reason = failure_reason([reply.record for reply in replies])
        return [measured.unavailable("finished_share", reason, unit="fraction")]
    shares = {
        "finished_share": row.count(Outcome.FINISHED),
        "cut_off_share": row.count(Outcome.CUT_OFF),
        "empty_share": row.count(Outcome.EMPTY),
    }
    tokens = [float(a.completion_tok) for a in row.attempts if a.completion_tok is not None]
    thought = [float(a.reasoning_tok) for a in row.attempts if a.reasoning_tok is not None]
    silent = "the server does not tell reasoning tokens apart"
    return [
        *(_share(measured, name, count, len(row.attempts)) for name, count in shares.items()),
        wrong_language(measured, row, replies),
        measured.figure("e2e_s", [attempt.e2e_s for attempt in row.attempts]),
        measured.figure("completion_tok", tokens, unit="tok", missing="the server sent no usage"),
        measured.figure("reasoning_tok", thought, unit="tok", missing=silent),
    ]


def _share(measured: Measured, name: str, count: int, of: int, detail: dict[str, Any] | None = None) -> Figure:
    interval = wilson(count, of)
    bounds = [interval] if interval else []
    told = {"count": count, "of": of, **(detail or {})}
    return measured.figure(name, [count / of], unit="fraction", bounds=bounds, detail=told)


def wrong_language(measured: Measured, row: BudgetRow, replies: Sequence[Reply]) -> Figure:
    """Of those answers whose language can be told: short and mixed ones are said to be uncertain, not counted."""
    told = sum(attempt.language_ok is not None for attempt in row.attempts)
    detail = {"uncertain": row.uncertain_language}
    if not told:
        unclear = "no answer was long and pure enough to tell its language"
        reason = unclear if row.attempts else failure_reason([reply.record for reply in replies])
        return measured.unavailable("wrong_language_share", reason, unit="fraction", detail=detail)
    return _share(measured, "wrong_language_share", row.wrong_language, told, detail)
