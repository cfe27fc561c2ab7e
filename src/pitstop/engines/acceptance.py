"""Speculative decoding from counters: how much of what was drafted was kept, and by which estimator."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.engines.adapter import Counters

RATE = "accepted tokens / draft tokens"
LENGTH = "1 + accepted tokens / drafts, bonus token included"
LENGTH_BY_STEPS = "(generated tokens - finished requests) / verification steps, bonus token included"


@dataclass(frozen=True)
class Acceptance:
    """None means that the server does not say, or that nothing was drafted: a rate of nothing is no zero."""

    rate: float | None = None  # a fraction of one
    length: float | None = None  # tokens a verification step
    per_position: tuple[float, ...] | None = None  # of all drafts, not of those that got that far
    rate_estimator: str = RATE
    length_estimator: str = LENGTH
    disagreement: str = ""  # which counts contradict each other, with the numbers

    @property
    def known(self) -> bool:
        return self.rate is not None or self.length is not None


def acceptance(delta: Counters) -> Acceptance:
    """Of a difference of two readings (`since`). Sums are divided, rates are never averaged."""
    if delta.accepted_tokens is None and delta.draft_tokens is None:
        return _by_steps(delta)
    return Acceptance(
        rate=_ratio(delta.accepted_tokens, delta.draft_tokens),
        length=_plus_one(_ratio(delta.accepted_tokens, delta.drafts)),
        per_position=_shares(delta.accepted_per_position, delta.drafts),
        disagreement=_disagreement(delta),
    )


def acceptance_of_replies(draft_tokens: int, accepted_tokens: int) -> Acceptance:
    """From llama.cpp's `timings.draft_n` and `draft_n_accepted`, summed over replies, for a server without counters."""
    return acceptance(Counters(draft_tokens=draft_tokens, accepted_tokens=accepted_tokens))


def _by_steps(delta: Counters) -> Acceptance:
    """SGLang counts steps and tokens only. The first token of a request comes from its prefill, not from a step."""
    generated, finished = delta.generation_tokens, delta.requests_finished
    if generated is None or finished is None or generated < finished:
        return Acceptance(length_estimator=LENGTH_BY_STEPS)
    return Acceptance(length=_ratio(generated - finished, delta.drafts), length_estimator=LENGTH_BY_STEPS)


def _disagreement(delta: Counters) -> str:
    accepted, drafted, drafts = delta.accepted_tokens, delta.draft_tokens, delta.drafts
    positions = delta.accepted_per_position
    if accepted is not None and drafted is not None and accepted > drafted:
        return f"{accepted} accepted of {drafted} drafted tokens"
    if accepted is not None and positions is not None and sum(positions) != accepted:
        return f"the positions add up to {sum(positions)} accepted tokens, the counter says {accepted}"
    if drafts is not None and positions and max(positions) > drafts:
        return f"a position was accepted {max(positions)} times in {drafts} drafts"
    return ""


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _plus_one(ratio: float | None) -> float | None:
    return None if ratio is None else 1.0 + ratio


def _shares(counts: tuple[int, ...] | None, drafts: int | None) -> tuple[float, ...] | None:
    return tuple(count / drafts for count in counts) if counts and drafts else None
