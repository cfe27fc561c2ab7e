"""A verdict with what it rests on, and the words for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pitstop.core.documents import Verdict


@dataclass(frozen=True)
class Judgement:
    """A verdict with what it rests on. Ratios are variant over production, whichever direction is good."""

    verdict: Verdict
    ratio: float | None
    interval: tuple[float, float] | None
    noise_floor: float | None  # sd of the ratio of two boots as a fraction; None when nothing is known of it
    p_value: float | None  # two-sided, of no difference at all
    blocks: int  # that entered the interval
    reason: str
    blocks_to_decide: int | None = None  # further ones, at 80 % power, if what was seen is true; None: not foreseeable


def undecided(reason: str, *, blocks: int, ratio: float | None = None) -> Judgement:
    return Judgement(Verdict.UNDECIDED, ratio, None, None, None, blocks, reason)


def words(verdict: Verdict, effect: tuple[float, float, float], margin: float, blocks: int, more: int | None) -> str:
    low, mean, high = (percent(x) for x in effect)
    seen = f"{mean} ({low} to {high}, {blocks} block{'s' if blocks != 1 else ''})"
    limit = percent(margin)[1:]
    if verdict is Verdict.EQUIVALENT:
        return f"{seen} lies within ±{limit}"
    if verdict is Verdict.UNDECIDED:
        wait = f"about {more} more would decide" if more else "more blocks of this kind would not decide it soon"
        return f"{seen} reaches across no difference and beyond ±{limit}; {wait}"
    certain = min(abs(effect[0]), abs(effect[2])) >= margin
    return f"{seen} excludes no difference" + ("" if certain else f", but may be less than {limit}")


def ratio_of(log: float) -> float:
    return math.exp(max(-700.0, min(700.0, log)))  # a float ends near exp(709)


def percent(log: float) -> str:
    return f"{(ratio_of(log) - 1) * 100:+.1f} %"
