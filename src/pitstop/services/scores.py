"""The verdict on a score: by the marks of each task, paired between the arms, and not by the two numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from pitstop.core.documents import Figure, Status
from pitstop.core.units import format_duration
from pitstop.stats.failures import Failures
from pitstop.stats.judgement import Judgement, undecided
from pitstop.stats.noise import NoisePrior
from pitstop.stats.scores import ScoreJudgement, judge_scores
from pitstop.stats.sheets import Sheet, Tally, flips_from_noise, flips_seen, pairs, tally

METRIC = "score"
# Two passes of few tasks often have the same score by luck, and then seem to have no noise at all.
_KNOWN_FROM_DF = 3.0
Key = tuple[str, str, str]  # ruler, case, metric
Pair = tuple[Figure | None, Figure | None]


class _Detail(msgspec.Struct):
    marks: dict[str, list[int | None]] = {}
    replies: list[str] = []
    pass_s: float | None = None


def judge_score(blocks: Sequence[Pair], *, minimum_effect: float, noise: NoisePrior | None) -> Judgement:
    """Judge the score of a variant against production's; each block is one boot of both. Ratios as everywhere else.

    `minimum_effect` is a fraction of production's score, too. Boots that gave no score are results of their arm.
    """
    noise = noise if noise is not None and noise.df >= _KNOWN_FROM_DF else None
    production, variant = (tally(_sheets([block[side] for block in blocks])) for side in (0, 1))
    failures = Failures(*(sum(_sheet(block[side]) is None for block in blocks) for side in (0, 1)))
    if not production.tasks or not variant.tasks:
        return failures.of_everything(len(blocks))
    sets = sorted({str(figure.detail.get("set")) for block in blocks for figure in block if figure and _sheet(figure)})
    if len(sets) > 1:  # own tasks that were edited meanwhile, under the names of the old ones
        return undecided(f"the boots were asked other tasks: {' and '.join(sets)}", blocks=0)
    paired = pairs(production, variant)
    base = math.fsum(task.production / task.production_runs for task in paired) / len(paired) if paired else 0.0
    flips = _flips(noise, production, variant, boots=len(blocks) - failures.production)
    found = judge_scores(paired, minimum_effect=minimum_effect * (base or 1.0), flips=flips)
    judgement = replace(
        _as_ratio(found, base, noise, len(blocks)), reason=_words(found, blocks, production, variant, noise)
    )
    return failures.weigh(judgement)


def noise_key(key: Key, figure: Figure, model: str) -> Key:
    """By what name the ledger keeps the noise of a figure: a score's belongs to one model and one set of tasks."""
    ruler, case, metric = key
    return (ruler, f"{case} of {figure.detail.get('set', '?')} by {model}", metric) if metric == METRIC else key


def sheet_of(detail: dict[str, Any]) -> Sheet | None:
    """The marks in a figure's detail; None when there are none, or none that can be read."""
    try:
        told = msgspec.convert(detail, _Detail)
    except (msgspec.ValidationError, RecursionError):
        return None
    if not told.marks or not {mark for marks in told.marks.values() for mark in marks} <= {0, 1, None}:
        return None
    return Sheet(told.marks, told.replies, told.pass_s if told.pass_s and math.isfinite(told.pass_s) else None)


def _sheet(figure: Figure | None) -> Sheet | None:
    if figure is None or figure.status in (Status.INVALID, Status.UNAVAILABLE):
        return None
    return sheet_of(figure.detail)


def _sheets(figures: Sequence[Figure | None]) -> list[Sheet]:
    return [sheet for figure in figures if (sheet := _sheet(figure)) is not None]


def _flips(noise: NoisePrior | None, production: Tally, variant: Tally, *, boots: int) -> float | None:
    """How much tasks turn by chance: what the ledger knows of this model and set, else what repeats here show.

    The ledger's runs are taken to have asked as often as one boot here: repeats even a score out, not its tasks.
    """
    if noise is not None and production.share and boots:
        attempts = sum(of for _, of in production.tasks.values())
        return flips_from_noise(noise.sd, production.share, round(attempts / boots))
    return flips_seen(production, variant)


def _as_ratio(found: ScoreJudgement, base: float, noise: NoisePrior | None, blocks: int) -> Judgement:
    floor = None if noise is None else math.expm1(noise.sd)
    if found.difference is None or found.interval is None or not base:
        return replace(undecided(found.reason, blocks=blocks), verdict=found.verdict, p_value=found.p_value)
    low, high = found.interval
    return Judgement(
        found.verdict, 1 + found.difference / base, (max(0.0, 1 + low / base), 1 + high / base), floor, found.p_value,
        blocks, found.reason,
    )  # fmt: skip


def _words(
    found: ScoreJudgement, blocks: Sequence[Pair], production: Tally, variant: Tally, noise: NoisePrior | None
) -> str:
    parts = [found.reason]
    tasks = len(production.tasks)
    if found.repeats_to_decide is not None:
        parts += _how_long(found.repeats_to_decide, blocks)
    if noise is not None and production.share:
        parts.append(
            f"two runs of one engine differ by about {noise.sd * production.share * tasks:.1f} tasks ({noise.source})"
        )
    alone = len(production.tasks.keys() ^ variant.tasks.keys())
    if alone:
        every = len(production.tasks.keys() | variant.tasks.keys())
        parts.append(f"{alone} of {every} tasks have an answer in one arm alone, and were left out")
    copies = production.copies + variant.copies
    if copies:
        parts.append(f"{copies} repeats were left out, for they said word by word what another had said")
    return "; ".join(parts)


def _how_long(passes: int, blocks: Sequence[Pair]) -> list[str]:
    """How long so many passes of each arm take, at the speed that was measured."""
    times = [sheet.pass_s for block in blocks for sheet in _sheets(block) if sheet.pass_s is not None]
    if not times:
        return []
    mean_s = math.fsum(times) / len(times)
    return [
        f"at {format_duration(mean_s)} a pass of one arm, {passes} of both take {format_duration(2 * passes * mean_s)}"
    ]
