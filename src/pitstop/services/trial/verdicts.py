"""From the runs of a trial to its verdicts: each judged figure of each variant against production, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pitstop.core.documents import Figure, RunDocument, Status, Verdict, VerdictRecord
from pitstop.decisions.merit import higher_is_better, is_judged, matches
from pitstop.stats.noise import NoisePrior
from pitstop.stats.verdict import Block, Judgement, judge

Key = tuple[str, str, str]  # ruler, case, metric
Noise = Callable[[Key], NoisePrior | None]
Runs = Mapping[int, RunDocument]  # by block


@dataclass(frozen=True)
class Question:
    """What a trial set out to decide, said beforehand."""

    minimum_effect: float
    primary: Sequence[str]  # globs over `ruler/case/metric`
    blocks: Sequence[int]


def judge_arm(name: str, production: Runs, variant: Runs, question: Question, noise: Noise) -> list[VerdictRecord]:
    """One record per figure that either arm has; primary ones first, each in the order in which it was measured."""
    keys = list(dict.fromkeys(_keys(production.values()) + _keys(variant.values())))
    records = [_record(name, key, production, variant, question, noise) for key in keys]
    return sorted(records, key=lambda record: not record.primary)


def _keys(runs: Iterable[RunDocument]) -> list[Key]:
    return [(f.ruler, f.case, f.metric) for run in runs for f in run.figures if is_judged(f.metric)]


def _record(name: str, key: Key, production: Runs, variant: Runs, question: Question, noise: Noise) -> VerdictRecord:
    pairs = [(_figure(production.get(block), key), _figure(variant.get(block), key)) for block in question.blocks]
    judgement = _judge(pairs, key, question.minimum_effect, noise(key))
    ruler, case, metric = key
    return VerdictRecord(
        arm=name,
        ruler=ruler,
        case=case,
        metric=metric,
        verdict=judgement.verdict,
        primary=matches(question.primary, *key),
        ratio=judgement.ratio,
        interval=judgement.interval,
        minimum_effect=question.minimum_effect,
        noise_floor=judgement.noise_floor,
        blocks=judgement.blocks,
        reason=judgement.reason,
        p_value=judgement.p_value,
        blocks_to_decide=judgement.blocks_to_decide,
    )


Pair = tuple[Figure | None, Figure | None]


def _judge(pairs: Sequence[Pair], key: Key, minimum_effect: float, noise: NoisePrior | None) -> Judgement:
    """Blocks with an invalid figure say nothing about either arm and are left out, with a word about it."""
    valid = [pair for pair in pairs if not any(figure and figure.status is Status.INVALID for figure in pair)]
    judgement = judge(
        [_block(pair) for pair in valid],
        minimum_effect=minimum_effect,
        higher_is_better=higher_is_better(key[2]),
        noise=noise,
    )
    judgement = _with_word(judgement, _invalid_words(pairs, len(pairs) - len(valid)))
    unverified = next((f for pair in valid for f in pair if f and f.status is Status.UNVERIFIED), None)
    if unverified is None:
        return judgement
    held_back = _with_word(judgement, f"not claimed, because a figure is unverified: {unverified.reason}")
    return replace(held_back, verdict=Verdict.UNDECIDED)


def _invalid_words(pairs: Sequence[Pair], left_out: int) -> str:
    reasons = [f.reason for pair in pairs for f in pair if f and f.status is Status.INVALID]
    return f"{left_out} of {len(pairs)} block(s) left out as invalid: {reasons[0]}" if reasons else ""


def _with_word(judgement: Judgement, word: str) -> Judgement:
    return replace(judgement, reason="; ".join(filter(None, (judgement.reason, word))))


def _figure(run: RunDocument | None, key: Key) -> Figure | None:
    if run is None:
        return None
    return next((f for f in run.figures if (f.ruler, f.case, f.metric) == key), None)


def _block(pair: Pair) -> Block:
    production, variant = (figure.value if figure else None for figure in pair)
    return production, variant
