"""What became of one attempt: right, wrong, or something that is neither."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from pitstop.rulers.language import language_of
from pitstop.rulers.quality.calls import judge_calls
from pitstop.rulers.quality.conversation import Said
from pitstop.rulers.quality.hidden_tests import mark_code
from pitstop.rulers.quality.keys import CodeKey, ToolKey
from pitstop.rulers.quality.marking import Mark, mark_answer
from pitstop.rulers.quality.sandbox import Box, SandboxFailed
from pitstop.rulers.quality.task import Instance, Kind
from pitstop.rulers.unsplit_thought import without_thought

_SHORT_CHARS = 400  # a refusal is short; a long answer that begins with an apology is an answer
_OPENING = re.compile(r"[^.!?\n]*[.!?\n]?[^.!?\n]*")  # two sentences: `I'm sorry. I can't help with that.`
_REFUSAL = re.compile(
    r"\bI(?:['’]?m| am)? (?:\w+ ){0,3}?(?:can['’]?t|cannot|can not|unable|not able|won['’]?t|will not|decline|refuse)\b"
    r"|\bas an? AI\b.{0,60}\b(?:can['’]?t|cannot|unable|not able)\b"
    r"|\b(?:kann|darf|werde|möchte) ich\b.{0,40}\bnicht\b|\bich (?:kann|darf|werde|möchte)\b.{0,60}\bnicht\b"
    r"|\b(?:ich bin|bin ich)\b.{0,20}\bnicht in der Lage\b|\bich (?:muss|lehne)\b.{0,40}\bab(?:lehnen)?\b",
    re.IGNORECASE,
)
_ANSWERED = re.compile(r"\b(?:answer|antwort)\b[*_ ]*:|\\boxed", re.IGNORECASE)


class Outcome(StrEnum):
    """`failed` is a request that came to nothing, `unavailable` an answer that could not be judged here."""

    RIGHT = "right"
    WRONG = "wrong"
    CUT_OFF = "cut-off"
    EMPTY = "empty"
    WRONG_LANGUAGE = "wrong-language"
    REFUSED = "refused"
    MALFORMED = "malformed-tool-call"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True)
class Judged:
    outcome: Outcome
    got: str = ""
    reason: str = ""


async def judge(instance: Instance, said: Said, box: Box | str) -> Judged:
    """Judge one attempt. `box` is the sandbox, or why there is none: then code is not judged, however it ended."""
    ended = _ended(said)
    if isinstance(instance.key, CodeKey):
        if isinstance(box, str):
            return Judged(Outcome.UNAVAILABLE, reason=without_sandbox(box))
        return ended or await _code(instance.key, said, box)
    if ended is not None:
        return ended
    if isinstance(instance.key, ToolKey):
        return _tools(instance, instance.key, said)
    return _in_words(instance, mark_answer(instance.key, said.answer, instance.language), said.answer)


def without_sandbox(why: str) -> str:
    return f"no sandbox: {why}"


def _ended(said: Said) -> Judged | None:
    """How a reply ended, where that already decides it."""
    if said.error:
        return Judged(Outcome.FAILED, reason=said.error)
    if said.last.record.finish_reason == "content_filter":
        return Judged(Outcome.REFUSED, reason="the server's filter stopped it")
    if said.cut_off:
        return Judged(Outcome.CUT_OFF, reason=f"cut off after {said.last.record.completion_tokens} tokens")
    if not without_thought(said.answer) and not said.calls:
        return Judged(Outcome.EMPTY, reason="it ended without an answer")
    return None


def _tools(instance: Instance, key: ToolKey, said: Said) -> Judged:
    mark = judge_calls(key, said.calls, said.answer)
    got = "; ".join(f"{call.name}({call.arguments})" for call in said.calls) or without_thought(said.answer)
    if mark.malformed:
        return Judged(Outcome.MALFORMED, got, mark.reason)
    if not mark.right:
        refused = not said.calls and is_refusal(said.answer)
        return Judged(Outcome.REFUSED if refused else Outcome.WRONG, got, mark.reason)
    if key.then is None:
        return Judged(Outcome.RIGHT, got)
    if not without_thought(said.answer):
        return Judged(Outcome.EMPTY, got, "its calls are right, and it ended without an answer")
    return _in_words(instance, mark_answer(key.then, said.answer, instance.language), said.answer)


async def _code(key: CodeKey, said: Said, box: Box) -> Judged:
    try:
        mark = await mark_code(key, said.answer, box)
    except SandboxFailed:
        try:
            mark = await mark_code(key, said.answer, box)
        except SandboxFailed as failed:
            return Judged(Outcome.UNAVAILABLE, reason=failed.message)
    if not mark.right and not mark.got and is_refusal(said.answer):
        return Judged(Outcome.REFUSED, reason=mark.reason)
    return Judged(Outcome.RIGHT if mark.right else Outcome.WRONG, mark.got, mark.reason)


def _in_words(instance: Instance, mark: Mark, answer: str) -> Judged:
    if not mark.right:
        return Judged(Outcome.REFUSED if is_refusal(answer) else Outcome.WRONG, mark.got, mark.reason)
    spoken = language_of(answer).code if instance.kind is Kind.MATH else None
    if spoken not in (None, instance.language):
        return Judged(
            Outcome.WRONG_LANGUAGE, mark.got, f"the answer is right, but in {spoken}, not {instance.language}"
        )
    return Judged(Outcome.RIGHT, mark.got)


def is_refusal(answer: str) -> bool:
    """A short answer that begins by saying that it cannot or will not, and then does not."""
    text = without_thought(answer)
    opening = _OPENING.match(text.lstrip("*_#> "))
    return len(text) <= _SHORT_CHARS and bool(opening and _REFUSAL.search(opening[0])) and not _ANSWERED.search(text)
