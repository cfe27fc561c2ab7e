"""What a budget did to some answers, and which budget to recommend. Pure: counts in, sentences out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# A server ends a thought by writing the end tag and whatever opens the answer, after the budget is used up; real vLLM
# gave 21 reasoning tokens for a budget of 20, and one speculation step may add its whole draft.
SLACK_TOK = 16


class Outcome(StrEnum):
    FINISHED = "finished"  # ended by itself, with an answer
    CUT_OFF = "cut-off"  # used up max_tokens
    EMPTY = "empty"  # no answer text at all


@dataclass(frozen=True)
class Attempt:
    """One reply under a budget. `language_ok` is None when the language cannot be told."""

    outcome: Outcome
    e2e_s: float
    completion_tok: int | None = None
    reasoning_tok: int | None = None
    language_ok: bool | None = None

    @property
    def useful(self) -> bool:
        return self.outcome is Outcome.FINISHED and self.language_ok is not False


@dataclass(frozen=True)
class BudgetRow:
    """All attempts under one budget; None is no budget."""

    budget_tok: int | None
    attempts: Sequence[Attempt]

    def count(self, outcome: Outcome) -> int:
        return sum(attempt.outcome is outcome for attempt in self.attempts)

    @property
    def wrong_language(self) -> int:
        return sum(attempt.language_ok is False for attempt in self.attempts)

    @property
    def uncertain_language(self) -> int:
        return sum(attempt.language_ok is None and attempt.outcome is not Outcome.EMPTY for attempt in self.attempts)

    @property
    def useful(self) -> int:
        return sum(attempt.useful for attempt in self.attempts)

    @property
    def median_s(self) -> float:
        ordered = sorted(attempt.e2e_s for attempt in self.attempts)
        return ordered[len(ordered) // 2] if ordered else 0.0

    @property
    def most_reasoning_tok(self) -> int | None:
        known = [attempt.reasoning_tok for attempt in self.attempts if attempt.reasoning_tok is not None]
        return max(known) if known else None


class Enforcement(StrEnum):
    ENFORCED = "enforced"
    IGNORED = "ignored"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Enforced:
    enforcement: Enforcement
    reason: str


def enforcement_of(rows: Sequence[BudgetRow]) -> Enforced:
    """Whether budgets are kept. Proof needs a thought that would have gone on, so one longer than the least budget."""
    bounded = [row for row in rows if row.budget_tok is not None and row.most_reasoning_tok is not None]
    if not bounded:
        return Enforced(Enforcement.UNKNOWN, "the server does not say how many tokens were reasoning")
    for row in bounded:
        most, budget = row.most_reasoning_tok or 0, row.budget_tok or 0
        if most > budget + SLACK_TOK:
            return Enforced(Enforcement.IGNORED, f"with a budget of {budget} a reply reasoned for {most} tokens")
    longest = max((row.most_reasoning_tok or 0 for row in rows), default=0)
    smallest = min(row.budget_tok or 0 for row in bounded)
    if longest <= smallest + SLACK_TOK:
        never = f"no reply reasoned for more than {longest} tokens, so a budget of {smallest} was never put to the test"
        return Enforced(Enforcement.UNKNOWN, never)
    return Enforced(Enforcement.ENFORCED, f"no reply went more than {SLACK_TOK} tokens beyond its budget")


@dataclass(frozen=True)
class Recommendation:
    """`refused` says why there is none; a recommended `budget_tok` of None means: send no budget."""

    budget_tok: int | None
    reason: str
    refused: bool = False


def recommend(rows: Sequence[BudgetRow], enforced: Enforced) -> Recommendation:
    """The budget with the most useful answers (finished, in the asked language); the fastest of equals.

    Refused where the budget is not enforced, or was not shown to be: it would promise what the server does not do.
    """
    if enforced.enforcement is not Enforcement.ENFORCED:
        return Recommendation(None, f"no budget can be recommended: {enforced.reason}", refused=True)
    tried = [row for row in rows if row.attempts]
    best = max(tried, key=lambda row: (row.useful, -row.median_s))
    if not best.useful:
        none = "no budget can be recommended: under none of them was an answer useful"
        return Recommendation(None, none, refused=True)
    return Recommendation(best.budget_tok, _why(best, tried))


def _why(best: BudgetRow, tried: Sequence[BudgetRow]) -> str:
    total = len(best.attempts)
    told = f"{best.useful} of {total} answers finished in the language of the question, median {best.median_s:.1f} s"
    rest = [row for row in tried if row is not best]
    others = [f"{_name(row)}: {row.useful} of {len(row.attempts)}, {row.median_s:.1f} s" for row in rest]
    return f"{_name(best)}: {told}" + (f"; {'; '.join(others)}" if others else "")


def _name(row: BudgetRow) -> str:
    return "no budget" if row.budget_tok is None else f"budget {row.budget_tok}"
