"""From the runs of a trial to its verdicts: each judged figure of each variant against production, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pitstop.core.documents import Figure, RunDocument, Status, Verdict, VerdictRecord
from pitstop.decisions.merit import higher_is_better, is_judged, matches
from pitstop.services.scores import METRIC, judge_score, noise_key
from pitstop.services.undisturbed import WRONG_ENGINE
from pitstop.stats.holm import corrected
from pitstop.stats.noise import NoisePrior
from pitstop.stats.sequential import Look, Plan, look
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
    minimum_score_effect: float = 0.1  # few tasks cannot show as little as many requests can
    confidence: float = 0.95  # of this look, where the trial may stop early

    def least(self, key: Key) -> float:
        """The minimum effect of one figure."""
        return self.minimum_score_effect if key[2] == METRIC else self.minimum_effect


def judge_arms(production: Runs, variants: Mapping[str, Runs], question: Question, noise: Noise) -> list[VerdictRecord]:
    """One record per variant and figure that either arm has: primary ones first, in the order of measuring.

    The primary figures were named beforehand and stand alone; the rest, over all variants, share Holm's correction.
    """
    asked = [(name, key) for name, runs in variants.items() for key in _keys([*production.values(), *runs.values()])]
    judged = [
        (matches(question.primary, *key), _judged(key, production, variants[name], question, noise))
        for name, key in asked
    ]
    records = [
        _record(name, key, primary, judgement, question.least(key))
        for (name, key), (primary, _), judgement in zip(asked, judged, corrected(judged), strict=True)
    ]
    return sorted(records, key=lambda record: not record.primary)


def why_stop(production: Runs, variants: Mapping[str, Runs], question: Question, noise: Noise, plan: Plan) -> str:
    """Why no further block is needed: every primary figure of every variant says stop; "" when one does not.

    A figure that is invalid or unverified somewhere, and a score, which has no planned looks, let the trial go on.
    """
    words: list[str] = []
    for name, runs in variants.items():
        for key in _keys([*production.values(), *runs.values()]):
            if matches(question.primary, *key):
                seen = _looked(key, production, runs, question, noise, plan)
                if seen is None or not seen.stop:
                    return ""
                words.append(f"{name} {'/'.join(key)}: {seen.why}")
    return "; ".join(words)


def _looked(key: Key, production: Runs, variant: Runs, question: Question, noise: Noise, plan: Plan) -> Look | None:
    pairs = [(_figure(production.get(block), key), _figure(variant.get(block), key)) for block in question.blocks]
    if key[2] == METRIC or any(f.status not in (Status.OK, Status.UNAVAILABLE) for pair in pairs for f in pair if f):
        return None
    return look(
        [_block(pair) for pair in pairs],
        plan,
        minimum_effect=question.least(key),
        higher_is_better=higher_is_better(key[2]),
        noise=noise(_noise_key(key, production, pairs)),
    )


def _keys(runs: Iterable[RunDocument]) -> list[Key]:
    return list(dict.fromkeys((f.ruler, f.case, f.metric) for run in runs for f in run.figures if is_judged(f.metric)))


def _judged(key: Key, production: Runs, variant: Runs, question: Question, noise: Noise) -> Judgement:
    pairs = [(_figure(production.get(block), key), _figure(variant.get(block), key)) for block in question.blocks]
    return _judge(pairs, key, question, noise(_noise_key(key, production, pairs)))


def _noise_key(key: Key, production: Runs, pairs: Sequence[Pair]) -> Key:
    figure = next((figure for pair in pairs for figure in pair if figure), None)
    model = next((run.engine.model for run in production.values()), "")
    return noise_key(key, figure, model) if figure else key


def _record(name: str, key: Key, primary: bool, judgement: Judgement, minimum_effect: float) -> VerdictRecord:
    ruler, case, metric = key
    return VerdictRecord(
        arm=name,
        ruler=ruler,
        case=case,
        metric=metric,
        verdict=judgement.verdict,
        primary=primary,
        ratio=judgement.ratio,
        interval=judgement.interval,
        minimum_effect=minimum_effect,
        noise_floor=judgement.noise_floor,
        blocks=judgement.blocks,
        reason=judgement.reason,
        p_value=judgement.p_value,
        blocks_to_decide=judgement.blocks_to_decide,
    )


Pair = tuple[Figure | None, Figure | None]


def _judge(pairs: Sequence[Pair], key: Key, question: Question, noise: NoisePrior | None) -> Judgement:
    """Blocks with an invalid figure say nothing about either arm and are left out, with a word about it."""
    valid = [pair for pair in pairs if not any(figure and figure.status is Status.INVALID for figure in pair)]
    judgement = _decided(valid, key, question, noise)
    judgement = _with_word(judgement, _invalid_words(pairs, len(pairs) - len(valid)))
    if not (why := _why_held_back([figure for pair in valid for figure in pair if figure])):
        return judgement
    return replace(_with_word(judgement, f"not claimed, because {why}"), verdict=Verdict.UNDECIDED)


def _why_held_back(figures: Sequence[Figure]) -> str:
    """Figures that may not be what they say, or answer two questions, carry no verdict; "" when they do."""
    unverified = next((figure for figure in figures if figure.status is Status.UNVERIFIED), None)
    if unverified is not None:
        return f"a figure is unverified: {unverified.reason}"
    asked = sorted({figure.detail.get("request", "as defined") for figure in figures})
    return f"the boots were not asked the same: some {' and some '.join(asked)}" if len(asked) > 1 else ""


def _decided(pairs: Sequence[Pair], key: Key, question: Question, noise: NoisePrior | None) -> Judgement:
    """Scores are judged task by task, everything else by one number a boot."""
    if key[2] == METRIC:
        return judge_score(pairs, minimum_effect=question.least(key), noise=noise)
    return judge(
        [_block(pair) for pair in pairs],
        minimum_effect=question.least(key),
        higher_is_better=higher_is_better(key[2]),
        noise=noise,
        confidence=question.confidence,
    )


def _invalid_words(pairs: Sequence[Pair], left_out: int) -> str:
    reasons = [f.reason for pair in pairs for f in pair if f and f.status is Status.INVALID]
    return f"{left_out} of {len(pairs)} block(s) left out as invalid: {reasons[0]}" if reasons else ""


def _with_word(judgement: Judgement, word: str) -> Judgement:
    return replace(judgement, reason="; ".join(filter(None, (judgement.reason, word))))


def _figure(run: RunDocument | None, key: Key) -> Figure | None:
    if run is None:
        return None
    found = next((f for f in run.figures if (f.ruler, f.case, f.metric) == key), None)
    return found or _void(run, key)


def _void(run: RunDocument, key: Key) -> Figure | None:
    """A figure that was not measured because another engine was up is invalid, and nothing that the arm failed at."""
    words = next((notice.text for notice in run.warnings if notice.code == WRONG_ENGINE), None)
    if words is None:
        return None
    ruler, case, metric = key
    return Figure(
        ruler=ruler,
        case=case,
        metric=metric,
        unit="",
        value=None,
        status=Status.INVALID,
        reason=words,
        source="none",
        n=0,
    )


def _block(pair: Pair) -> Block:
    production, variant = (figure.value if figure else None for figure in pair)
    return production, variant
