"""What a document says, in a sentence: the first thing on a page and the last line of a command."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pitstop.core.documents import ArmRecord, Figure, RunDocument, Status, TrialDocument, Verdict, VerdictRecord
from pitstop.report.clean import one_line, shorten
from pitstop.report.labels import metric_title, row_label
from pitstop.report.numbers import change, change_interval, quantity, seconds
from pitstop.report.table import Tone
from pitstop.report.trial_tables import VERDICT_TONES, decisive

# The word for several figures together: the first of these that occurs. It is the order of the exit codes.
_PRECEDENCE = (Verdict.WORSE, Verdict.UNDECIDED, Verdict.BETTER, Verdict.EQUIVALENT)
_HEADLINE_METRICS = ("decode_tok_s", "prefill_tok_s", "throughput_tok_s", "retention", "score")


@dataclass(frozen=True)
class Sentence:
    """A statement and how it is to be taken."""

    text: str
    tone: Tone = Tone.PLAIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", one_line(self.text))


def overall(verdicts: list[VerdictRecord]) -> Verdict | None:
    """One verdict over the primary figures (all, when none is primary); None when nothing was judged."""
    judged = {each.verdict for each in decisive(verdicts)}
    return next((verdict for verdict in _PRECEDENCE if verdict in judged), None)


def winners(trial: TrialDocument) -> list[ArmRecord]:
    """The variants whose primary figures say better, and none of them worse or undecided."""
    judged = {arm.name: [each for each in trial.verdicts if each.arm == arm.name] for arm in trial.arms}
    return [arm for arm in _variants(trial) if overall(judged[arm.name]) is Verdict.BETTER]


def trial_headlines(trial: TrialDocument) -> list[Sentence]:
    """One sentence per variant."""
    variants = list(dict.fromkeys([*(arm.name for arm in _variants(trial)), *(each.arm for each in trial.verdicts)]))
    if not variants:
        return [Sentence(f"Nothing was compared: the trial {_state(trial)}.", Tone.WARN)]
    return [_variant_sentence(trial, name) for name in variants]


def production_sentence(trial: TrialDocument) -> Sentence:
    """Is production back, and what proves it."""
    production = trial.production
    down = f" It was down for {seconds(production.downtime_s)}." if production.downtime_s is not None else ""
    if not production.restored:
        if trial.state in ("running", "waiting"):
            return Sentence(f"The trial is still under way; {production.engine} is not back yet.", Tone.WARN)
        return Sentence(f"Production ({production.engine}) is not back; a person is needed.", Tone.BAD)
    if production.fingerprint_after is None:
        return Sentence(
            f"Production ({production.engine}) {production.proved_by or 'is up, without a proof on record'}."
        )
    if production.fingerprint_after != production.fingerprint_before:
        changed = f"Production ({production.engine}) answers, with another fingerprint than before.{down}"
        return Sentence(changed, Tone.BAD)
    proof = f" and {production.proved_by}" if production.proved_by else ""
    return Sentence(f"Production ({production.engine}) is back with the fingerprint it had{proof}.{down}", Tone.GOOD)


def run_headline(run: RunDocument) -> Sentence:
    """The main figure of each ruler, and how many are not to be quoted."""
    quotable = [figure for figure in run.figures if figure.status is Status.OK and figure.value is not None]
    best = [next((f for f in quotable if f.metric == metric), None) for metric in _HEADLINE_METRICS]
    told = ", ".join(_figure_words(figure, run) for figure in best if figure)
    if not run.figures:
        return Sentence("No figure was measured.", Tone.WARN)
    if not told:
        return Sentence(f"None of {len(run.figures)} figures is verified; the reasons are below.", Tone.WARN)
    return Sentence(f"{run.engine.model}: {told}.")


def run_caveats(run: RunDocument) -> list[Sentence]:
    """What a reader must know before quoting a figure."""
    sentences = []
    statuses = Counter(figure.status for figure in run.figures)
    for status, tone in ((Status.INVALID, Tone.BAD), (Status.UNVERIFIED, Tone.WARN), (Status.UNAVAILABLE, Tone.MUTED)):
        if count := statuses[status]:
            sentences.append(Sentence(f"{count} of {len(run.figures)} figures {_are(count)} {status.value}.", tone))
    if failed := sum(not request.ok for request in run.requests):
        sentences.append(Sentence(f"{failed} of {len(run.requests)} requests failed and enter no average.", Tone.BAD))
    return sentences


def _variant_sentence(trial: TrialDocument, name: str) -> Sentence:
    primary = decisive([each for each in trial.verdicts if each.arm == name])
    incidents = sum(len(arm.incidents) for arm in trial.arms if arm.name == name)
    troubled = f" Its boots had {incidents} incident{'s' if incidents != 1 else ''}." if incidents else ""
    verdict = overall(primary)
    if verdict is None:
        return Sentence(f"{name} got no verdict; the trial {_state(trial)}.{troubled}", Tone.WARN)
    tone = VERDICT_TONES[verdict]
    if len(primary) == 1:
        return Sentence(f"{name} is {_one(primary[0], trial)}.{troubled}", tone)
    counts = Counter(each.verdict for each in primary)
    parts = ", ".join(f"{counts[each]} {each.value}" for each in _PRECEDENCE if counts[each])
    lead = next(each for each in primary if each.verdict is verdict)
    return Sentence(f"{name} is {_one(lead, trial)}. Of {len(primary)} primary figures: {parts}.{troubled}", tone)


def _one(each: VerdictRecord, trial: TrialDocument) -> str:
    what = f"{metric_title(each.metric)} ({row_label(each.ruler, each.case, trial.plan)})"
    why = shorten(each.reason.split("; ")[0], 160)
    if each.verdict is Verdict.UNDECIDED:
        seen = f", {change(each.ratio)} seen" if each.ratio is not None else ""
        return f"undecided on {what}{seen}{': ' if why else ''}{why}"
    effect = f"{change(each.ratio)}, 95 % interval {change_interval(each.interval)}"
    if each.ratio is None and why:  # its boots crashed, or were stopped: that is the verdict's ground, and no effect is
        effect = why
    if each.verdict is Verdict.EQUIVALENT:
        return f"equivalent to production on {what}: {effect}"
    return f"{each.verdict.value} than production on {what}: {effect}"


def _variants(trial: TrialDocument) -> list[ArmRecord]:
    return [arm for arm in trial.arms if arm.overrides]


def _figure_words(figure: Figure, run: RunDocument) -> str:
    label = row_label(figure.ruler, figure.case, run.settings)
    return f"{metric_title(figure.metric)} {quantity(figure.value, figure.unit)} ({label})"


def _state(trial: TrialDocument) -> str:
    words = {
        "running": "is still running",
        "gave-up": "gave up waiting and touched nothing",
        "interrupted": "was interrupted",
        "failed": "failed",
        "finished": "finished",
        "not-restored": "ended without production back",
    }
    return words.get(trial.state, f"is in the state {trial.state!r}")


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
