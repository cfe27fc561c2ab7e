"""What was seen and is no incident."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pitstop.decisions.incidents.ending import EndState
from pitstop.decisions.incidents.incident import Incident, Note
from pitstop.decisions.incidents.kernel import KernelFact, KernelLine
from pitstop.decisions.incidents.story import Story


def notes_on(
    stories: Sequence[Story], kernel: Sequence[KernelLine], states: Sequence[EndState], incidents: Sequence[Incident]
) -> list[Note]:
    """What is worth a word although nothing failed by it."""
    notes = [note for story in stories for note in _of_story(story)]
    told = {line for one in incidents for line in one.evidence}
    refused = [line.text for line in kernel if line.fact is KernelFact.NO_MEMORY and line.text not in told]
    if refused:
        text = "the GPU's driver was refused memory: evidence of pressure, no failure by itself"
        notes.append(Note(text=text, lines=tuple(refused[:3])))
    asked = any(story.stopped for story in stories)
    if not incidents and not asked and any(state.code == 0 for state in states):
        text = "it ended with exit code 0; nothing that was read says that it was asked to, or that anything failed"
        notes.append(Note(text=text))
    return notes


def _of_story(story: Story) -> Iterator[Note]:
    kinds = (
        (story.waits, "line(s) about workers that waited while it was loading, compiling or idle: no hang"),
        (story.doubtful, "line(s) about workers that waited while it served; perhaps a hang, if requests ran then"),
        (story.teardown, "error(s) after it was asked to stop: no failure"),
        (story.survived, "exception(s) that no signature knows, after which it went on"),
    )
    for events, text in kinds:
        if events:
            lines = tuple(event.lines[-1] for event in events[:3])
            yield Note(text=f"{story.source}: {len(events)} {text}", lines=lines)
