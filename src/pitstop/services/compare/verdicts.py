"""One verdict per figure of two comparable runs. Two runs are one block: one boot of each arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from pitstop.core.documents import Figure, Notice, Status, Verdict, VerdictRecord
from pitstop.core.errors import UsageError
from pitstop.decisions.merit import higher_is_better
from pitstop.services.compare.comparable import differences, shared
from pitstop.services.compare.measured import Key, Measured
from pitstop.services.scores import METRIC, judge_score, noise_key
from pitstop.stats.holm import corrected
from pitstop.stats.noise import NoisePrior
from pitstop.stats.verdict import Judgement, judge

Noise = Callable[[str, Key], NoisePrior | None]  # by engine kind and figure


class Comparison(msgspec.Struct, kw_only=True):
    """Ratios are `second` over `first`. All figures share Holm's correction: none was named beforehand."""

    first: str
    second: str
    tool: str
    minimum_effect: float
    verdicts: list[VerdictRecord]
    schema: str = "pitstop.comparison"
    version: int = 1
    warnings: list[Notice] = []


def compare(
    first: Measured, second: Measured, *, minimum_effect: float, noise: Noise, minimum_score_effect: float = 0.1
) -> Comparison:
    """Judge every figure that both have; UsageError names what makes them incomparable."""
    _refuse(first, second)
    keys = shared(first, second)
    least = {key: minimum_score_effect if key[2] == METRIC else minimum_effect for key in keys}
    known = {key: _known_noise(first, second, key, noise) for key in keys}
    judged = [(False, _judged(first.figures[key], second.figures[key], key, least[key], known[key])) for key in keys]
    return Comparison(
        first=first.name,
        second=second.name,
        tool=first.tool,
        minimum_effect=minimum_effect,
        verdicts=[
            _record(key, judgement, second.name, least[key])
            for key, judgement in zip(keys, corrected(judged), strict=True)
        ],
        warnings=list(_warnings(first, second)),
    )


def _known_noise(first: Measured, second: Measured, key: Key, noise: Noise) -> NoisePrior | None:
    kind = first.engine_kind if first.engine_kind == second.engine_kind else None
    return noise(kind, noise_key(key, first.figures[key], first.model)) if kind else None


def _refuse(first: Measured, second: Measured) -> None:
    if first.run_id is not None and first.run_id == second.run_id:
        raise UsageError(f"{first.name} and {second.name} are the same run.", hint="Name two runs.")
    found = differences(first, second)
    if found:
        raise UsageError(
            f"{first.name} and {second.name} are not comparable: {'; '.join(found[:5])}.",
            hint="Measure both with the same tool, prompts and settings.",
        )
    if not shared(first, second):
        raise UsageError(
            f"{first.name} and {second.name} have no figure in common.",
            hint="Measure both with the same rulers and cases.",
        )


def _judged(first: Figure, second: Figure, key: Key, minimum_effect: float, noise: NoisePrior | None) -> Judgement:
    for figure, which in ((first, "first"), (second, "second")):
        if figure.status in (Status.INVALID, Status.UNAVAILABLE) or figure.value is None:
            return _undecided(f"the {which} run's figure is {figure.status}: {figure.reason or 'no value'}")
    judgement = _decided(first, second, key, minimum_effect, noise)
    unverified = next((figure for figure in (first, second) if figure.status is Status.UNVERIFIED), None)
    if unverified is not None:
        reason = f"{judgement.reason}; not claimed, because a figure is unverified: {unverified.reason}"
        return replace(judgement, verdict=Verdict.UNDECIDED, reason=reason)
    if judgement.interval is None and judgement.ratio is not None:
        return replace(judgement, reason=f"{_within(first.samples, second.samples)}{judgement.reason}")
    return judgement


def _decided(first: Figure, second: Figure, key: Key, minimum_effect: float, noise: NoisePrior | None) -> Judgement:
    if key[2] == METRIC:
        return judge_score([(first, second)], minimum_effect=minimum_effect, noise=noise)
    return judge(
        [(first.value, second.value)],
        minimum_effect=minimum_effect,
        higher_is_better=higher_is_better(key[2]),
        noise=noise,
    )


def _within(first: Sequence[float], second: Sequence[float]) -> str:
    """How far the samples of these two boots apart carry their ratio: less than boots of one engine may differ."""
    samples = [[math.log(x) for x in side if x > 0 and math.isfinite(x)] for side in (first, second)]
    if any(len(side) < 2 for side in samples):
        return ""
    low = math.exp(min(samples[1]) - max(samples[0])) - 1
    high = math.exp(max(samples[1]) - min(samples[0])) - 1
    return f"between {low:+.1%} and {high:+.1%} from sample to sample of these two boots; "


def _warnings(first: Measured, second: Measured) -> list[Notice]:
    notices = []
    if first.boot is not None and first.boot == second.boot:
        notices.append(Notice(code="same-boot", text="Both runs are of one boot of one engine: nothing was changed."))
    if first.model != second.model:
        text = f"The models have two names: {first.model} and {second.model}."
        notices.append(Notice(code="other-model", text=text))
    for one, other in ((first, second), (second, first)):
        missing = [key for key in one.figures if key not in other.figures]
        if missing:
            text = f"{len(missing)} figure(s) are in {one.name} alone, such as {'/'.join(missing[0])}."
            notices.append(Notice(code="figure-missing", text=text))
    return notices


def _undecided(reason: str) -> Judgement:
    return Judgement(Verdict.UNDECIDED, None, None, None, None, 0, reason)


def _record(key: Key, judgement: Judgement, arm: str, minimum_effect: float) -> VerdictRecord:
    ruler, case, metric = key
    return VerdictRecord(
        arm=arm, ruler=ruler, case=case, metric=metric, verdict=judgement.verdict, primary=False,
        ratio=judgement.ratio, interval=judgement.interval, minimum_effect=minimum_effect,
        noise_floor=judgement.noise_floor, blocks=judgement.blocks, reason=judgement.reason,
        p_value=judgement.p_value, blocks_to_decide=judgement.blocks_to_decide,
    )  # fmt: skip
