"""From everything that was read to incidents: one per failure, with its root, its lines, and what followed from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from pitstop.decisions.incidents.ending import EndState, meaning
from pitstop.decisions.incidents.events import Event
from pitstop.decisions.incidents.failures import Failure
from pitstop.decisions.incidents.guard_log import GuardLog
from pitstop.decisions.incidents.incident import Findings, Incident
from pitstop.decisions.incidents.kernel import KernelLine, first_xid
from pitstop.decisions.incidents.merging import merge_sources
from pitstop.decisions.incidents.notes import notes_on
from pitstop.decisions.incidents.outside import from_outside, xid_incident
from pitstop.decisions.incidents.signatures import Role
from pitstop.decisions.incidents.specifics import specifics
from pitstop.decisions.incidents.story import Story
from pitstop.decisions.incidents.template import group

_NEAR_S = 900.0  # a kernel's or guard's line this near to a failure belongs to it
_LINES = 12  # of evidence per incident


@dataclass(frozen=True)
class Seen:
    """Everything that was read."""

    stories: Sequence[Story] = ()
    states: Sequence[EndState] = ()
    kernel: Sequence[KernelLine] = ()
    guards: Sequence[GuardLog] = ()


def conclude(seen: Seen) -> Findings:
    """One incident per failure, the earliest first."""
    state = seen.states[-1] if seen.states else None
    guard = next((one for one in seen.guards if one.kill), None)
    failures = [one for one in merge_sources(seen.stories) if guard is None or not _after_kill(one.root, guard)]
    last = _last_failure(failures, seen.stories) if failures else None
    incidents = [_incident(one, seen, state if one is last else None, alone=len(failures) == 1) for one in failures]
    outside = from_outside(seen.stories, state, seen.kernel, guard)
    if last is None:
        incidents += outside
    else:
        incidents = _with_outside(incidents, failures.index(last), last, outside, guard)
    incidents += _other_guards(seen.guards, guard)
    incidents += _xid_alone(seen, failures)
    ordered = sorted(incidents, key=lambda one: (one.first_s is None, one.first_s or 0.0))
    return Findings(incidents=tuple(ordered), notes=tuple(notes_on(seen.stories, seen.kernel, seen.states, ordered)))


def _with_outside(
    incidents: list[Incident], at: int, last: Failure, outside: list[Incident], guard: GuardLog | None
) -> list[Incident]:
    """What ended the engine from outside explains a log that only echoes, and follows from one that tells a cause."""
    explained = [one for one in outside if one.explained or one.signature == "segmentation-fault"]
    if not explained:
        return incidents
    told, own = explained[0], incidents[at]
    if last.root.role in (Role.ECHO, Role.VICTIM):
        both = msgspec.structs.replace(told, evidence=(*told.evidence, *own.evidence), sources=own.sources)
        return [*incidents[:at], both, *incidents[at + 1 :]]
    if guard is None:
        return incidents  # an end that the exit state tells is among the consequences already
    if guard.kill_s is not None and last.root.epoch_s is not None and guard.kill_s - last.root.epoch_s > _NEAR_S:
        return [*incidents, told]
    killed = msgspec.structs.replace(
        own,
        evidence=(*own.evidence, *told.evidence),
        consequences=(*own.consequences, "the memory guard then killed it"),
    )
    return [*incidents[:at], killed, *incidents[at + 1 :]]


def _after_kill(root: Event, guard: GuardLog) -> bool:
    """What broke after the guard's kill broke because of it; without times, what only suffers or echoes."""
    if guard.kill_s is not None and root.epoch_s is not None:
        return 0 <= root.epoch_s - guard.kill_s < _NEAR_S
    return root.role in (Role.ECHO, Role.VICTIM)


def _last_failure(failures: list[Failure], stories: Sequence[Story]) -> Failure | None:
    """The failure that a container's end state tells of: that of the last boot, if the last boot failed."""
    last = failures[-1]
    story = next((one for one in stories if one.source == last.sources[0]), None)
    return last if story is None or story.open else None


def _incident(failure: Failure, seen: Seen, state: EndState | None, *, alone: bool) -> Incident:
    root, signature = failure.root, failure.root.signature
    near = [line for line in seen.kernel if _belongs(line, root, alone=alone)]
    if (signature is None or root.role in (Role.ECHO, Role.WAIT)) and (xid := first_xid(near)) is not None:
        return xid_incident(xid, near, consequences=_consequences(failure, state), sources=tuple(failure.sources))
    told = specifics(root)
    summary = signature.summary if signature else f"unexplained: {root.message[:200]}"
    return Incident(
        signature=signature.id if signature else group(root.message),
        summary=f"{summary}: {told.summary}" if told.summary else summary,
        first_at=root.at,
        first_s=root.epoch_s,
        place=root.number,
        last_at=failure.last.at,
        evidence=(*_evidence(failure), *(line.text for line in near[:3]), *_memory(root, seen.guards)),
        consequences=(*(signature.consequences if signature else ()), *_consequences(failure, state)),
        advice=told.advice + (signature.advice if signature else _UNKNOWN_ADVICE),
        upstream=signature.upstream if signature else "",
        severity=signature.severity if signature else "crash",
        explained=signature.explained if signature else False,
        sources=tuple(failure.sources),
        detail={**told.detail, **_who(root)},
    )


def _who(root: Event) -> dict[str, object]:
    who = {"rank": root.rank, "process": root.process or None}
    return {key: value for key, value in who.items() if value is not None}


_UNKNOWN_ADVICE = (
    "No signature knows this. Read the lines, search the engine's issues for the message, and add a signature once its "
    "cause is known; until then it is counted with what looks like it."
)


def _evidence(failure: Failure) -> tuple[str, ...]:
    """The root's own lines first, then one line of everything else that spoke."""
    lines = list(failure.root.lines)
    for event in failure.events:
        lines += [line for line in event.lines[-1:] if line not in lines]
    return tuple(lines[:_LINES])


def _consequences(failure: Failure, state: EndState | None) -> tuple[str, ...]:
    said = []
    followers = len(failure.events) - 1
    if followers:
        said.append(f"{followers} more line(s) or traceback(s) only followed from it")
    if failure.root.role is not Role.WAIT and failure.ended:
        said.append("the server's process ended")
    if state is not None:
        said += _ending(state)
    return tuple(said)


def _ending(state: EndState) -> list[str]:
    if state.running:
        return ["its process is still there, and may be useless: restart it if it does not generate"]
    if state.code is None:
        return []
    said = [meaning(state.code)]
    if state.code == 0:
        said.append(
            "a crash that ends with code 0: `Restart=on-failure` does not start it again; "
            "use `unless-stopped` or `always`"
        )
    return said


def _belongs(line: KernelLine, root: Event, *, alone: bool) -> bool:
    if line.epoch_s is None or root.epoch_s is None:
        return alone
    return abs(line.epoch_s - root.epoch_s) <= _NEAR_S


def _memory(root: Event, guards: Sequence[GuardLog]) -> tuple[str, ...]:
    """The lowest memory that a guard saw before a hang or crash; evidence, no verdict."""
    for guard in guards:
        if guard.lowest_line and (
            guard.lowest_s is None or root.epoch_s is None or guard.lowest_s <= root.epoch_s + 60
        ):
            return (f"lowest memory in the guard's log: {guard.lowest_line}",)
    return ()


def _other_guards(guards: Sequence[GuardLog], told: GuardLog | None) -> list[Incident]:
    from_log = [one for one in guards if one.kill and one is not told]
    return [incident for guard in from_log for incident in from_outside((), None, (), guard)]


def _xid_alone(seen: Seen, failures: Sequence[Failure]) -> list[Incident]:
    """A fault of the GPU that no log of an engine tells of."""
    left = [
        line for line in seen.kernel if not any(_belongs(line, one.root, alone=len(failures) == 1) for one in failures)
    ]
    fault = first_xid(left)
    state = seen.states[-1] if seen.states else None
    consequences = tuple(_ending(state)) if state is not None and not failures else ()
    return [xid_incident(fault, left, consequences=consequences)] if fault is not None else []
