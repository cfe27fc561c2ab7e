"""Attempts as they stand in a run document."""

from __future__ import annotations

from pitstop.core.documents import TaskRecord
from pitstop.rulers.quality.conversation import Said
from pitstop.rulers.quality.outcome import Judged, Outcome
from pitstop.rulers.quality.task import Instance
from pitstop.rulers.unsplit_thought import without_thought

_TRANSCRIPT_CHARS = 12_000  # of thought and of answer each: 28 of them make a document of well under a megabyte
_SHORT_CHARS = 2_000


def record_of(instance: Instance, repeat: int, said: Said, judged: Judged, grading_s: float) -> TaskRecord:
    """One attempt; its middle is left out where it is long."""
    tokens = [reply.record.completion_tokens for reply in said.replies]
    times = [reply.record.e2e_s for reply in said.replies if reply.record.e2e_s is not None]
    calls = "\n".join(f"[{call.name} {call.arguments}]" for call in said.calls)
    return TaskRecord(
        task=instance.name,
        level=instance.level.value,
        repeat=repeat,
        outcome=judged.outcome.value,
        wanted=abridged(instance.key.words, _SHORT_CHARS),
        got=abridged(judged.got, _SHORT_CHARS),
        reason=abridged(judged.reason, _SHORT_CHARS),
        prompt=instance.prompt,
        reasoning=abridged(said.reasoning, _TRANSCRIPT_CHARS),
        answer=abridged(
            "\n".join(filter(None, (calls, without_thought(said.answer) or said.answer))), _TRANSCRIPT_CHARS
        ),
        reply_digest=said.digest,
        completion_tokens=None if None in tokens else sum(count or 0 for count in tokens),
        e2e_s=sum(times) if times else None,
        grading_s=grading_s,
    )


def unasked(instance: Instance, repeat: int, reason: str) -> TaskRecord:
    """A task that could not be judged here, whatever came: half an hour of its engine would be thrown away."""
    return TaskRecord(
        task=instance.name,
        level=instance.level.value,
        repeat=repeat,
        outcome=Outcome.UNAVAILABLE.value,
        wanted=abridged(instance.key.words, _SHORT_CHARS),
        reason=reason,
        prompt=instance.prompt,
    )


def abridged(text: str, limit: int) -> str:
    """Beginning and end of a long text, and how much is missing between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"
