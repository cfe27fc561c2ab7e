"""Ends that the engine's own log does not explain: killed by us, by the kernel, by somebody, or simply gone."""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.decisions.incidents.ending import EndState, meaning
from pitstop.decisions.incidents.guard_log import GuardLog
from pitstop.decisions.incidents.incident import Incident
from pitstop.decisions.incidents.kernel import XIDS, KernelFact, KernelLine
from pitstop.decisions.incidents.lines import read_line
from pitstop.decisions.incidents.story import Story
from pitstop.decisions.incidents.template import group

_NEAR_S = 900.0
_GRACE_OVER = 137  # a stop that was asked for ends so when the grace was too short
_CGROUP_ADVICE = "Raise the container's --memory; it counts no GPU memory, so something on the CPU side grew."
_MEMORY_ADVICE = "Leave the engine less memory or the box more: see `pitstop plan`."


def from_outside(
    stories: Sequence[Story], state: EndState | None, kernel: Sequence[KernelLine], guard: GuardLog | None
) -> list[Incident]:
    """What ended an engine whose log tells of no failure; nothing when it was asked to end, or is up."""
    if guard is not None:
        return [_guard_kill(guard, state)]
    by_kernel = _by_the_kernel(state, kernel)
    if by_kernel is not None:
        return [by_kernel]
    if state is None or state.running or state.code is None:
        return []
    if state.error:
        return [_not_started(state)]
    asked = any(story.stopped for story in stories)
    is_an_answer = state.code in (0, 130, 143) or (asked and state.code == _GRACE_OVER)
    errors = next((story.errors for story in stories if story.errors), ())
    return [] if is_an_answer else [_unexplained_end(state, errors)]


def _by_the_kernel(state: EndState | None, kernel: Sequence[KernelLine]) -> Incident | None:
    """A kill or fault that the kernel tells of, if it can be this engine's."""
    if state is not None and state.running:
        return None
    near = [line for line in kernel if line.killed_an_engine and _near(line, state)]
    killed = next((line for line in near if line.fact in (KernelFact.OOM_HOST, KernelFact.OOM_CGROUP)), None)
    segfault = next((line for line in near if line.fact is KernelFact.SEGFAULT), None)
    code = state.code if state is not None else None
    if state is not None and state.oom_killed:
        return _oom(killed, state, cgroup=killed is None or killed.fact is KernelFact.OOM_CGROUP)
    if killed is not None and code in (137, None):
        return _oom(killed, state, cgroup=killed.fact is KernelFact.OOM_CGROUP)
    if segfault is not None and code in (139, None):
        return _segfault(segfault, state)
    return None


def _near(line: KernelLine, state: EndState | None) -> bool:
    """Whether a kernel's line can belong to this end; unknown times may."""
    if state is None or state.finished_s is None or line.epoch_s is None:
        return True
    return abs(line.epoch_s - state.finished_s) <= _NEAR_S


def xid_incident(
    fault: KernelLine, lines: Sequence[KernelLine], *, consequences: tuple[str, ...] = (), sources: tuple[str, ...] = ()
) -> Incident:
    """A fault of the GPU: all Xids around it are one incident."""
    xids = [line for line in lines if line.fact is KernelFact.XID]
    numbers = sorted({line.number for line in xids})
    meant = XIDS.get(fault.number, "see NVIDIA's list of Xids")
    dead = (
        ("the GPU stopped the process's work: the engine cannot go on, though its process may stay",)
        if 43 in numbers
        else ()
    )
    return Incident(
        signature=f"gpu-xid-{fault.number}",
        summary=f"the GPU reported Xid {', '.join(map(str, numbers))}: {meant}",
        first_at=fault.at,
        first_s=fault.epoch_s,
        evidence=tuple(line.text for line in lines[:12]),
        consequences=(*dead, *consequences),
        advice="Restart the engine: it is of no use now. If it repeats, change one suspect kernel or flag at a time; "
        "48, 63, 64, 74, 79, 92, 94 and 95 speak of hardware.",
        upstream="https://docs.nvidia.com/deploy/xid-errors/",
        explained=False,
        sources=sources,
        detail={"xids": numbers},
    )


def _guard_kill(guard: GuardLog, state: EndState | None) -> Incident:
    lowest = f", lowest {guard.lowest_mib:.0f} MiB available" if guard.lowest_mib is not None else ""
    ended = (f"{meaning(state.code)}; that kill was ours",) if state is not None and state.code is not None else ()
    return Incident(
        signature="guard-kill",
        summary=f"the memory guard killed the engine{lowest}: the kill is ours, not the engine's crash",
        first_at=guard.kill_at,
        first_s=guard.kill_s,
        evidence=tuple(
            line for line in (guard.kill, guard.lowest_line if guard.lowest_line != guard.kill else "") if line
        ),
        consequences=ended,
        advice=f"{_MEMORY_ADVICE} The engine had no fault of its own; what its log says after the kill is aftermath.",
        detail={"lowest_available_mib": guard.lowest_mib},
    )


def _oom(line: KernelLine | None, state: EndState | None, *, cgroup: bool) -> Incident:
    where = "its container's memory limit was reached" if cgroup else "the whole box ran out of memory"
    return Incident(
        signature="oom-cgroup" if cgroup else "oom-killer",
        summary=f"the kernel killed it: {where}",
        first_at=line.at if line else state.finished_at if state else None,
        first_s=line.epoch_s if line else state.finished_s if state else None,
        evidence=(line.text,) if line else ("State.OOMKilled is true",),
        consequences=(meaning(state.code),) if state is not None and state.code is not None else (),
        advice=_CGROUP_ADVICE if cgroup else _MEMORY_ADVICE,
        detail={"victim": line.name, "victim_pid": line.pid} if line and line.pid else {},
    )


def _segfault(line: KernelLine, state: EndState | None) -> Incident:
    return Incident(
        signature="segmentation-fault",
        summary=f"{line.name.strip() or 'a process'} read memory that it does not have",
        first_at=line.at,
        first_s=line.epoch_s,
        evidence=(line.text,),
        consequences=(meaning(state.code),) if state is not None and state.code is not None else (),
        advice="Set PYTHONFAULTHANDLER=1 for the Python stack the next time.",
        explained=False,
    )


def _not_started(state: EndState) -> Incident:
    return Incident(
        signature="container-not-started",
        summary=f"the container could not be started: {state.error[:300]}",
        first_at=state.finished_at,
        first_s=state.finished_s,
        evidence=(f"State.Error: {state.error[:600]}", f"State.ExitCode: {state.code}"),
        advice="Mend what the container engine names; the engine itself never ran.",
        severity="refused",
    )


def _unexplained_end(state: EndState, errors: tuple[str, ...]) -> Incident:
    assert state.code is not None
    known = {137: "killed-from-outside", 139: "segmentation-fault", 134: "aborted"}.get(state.code)
    advice = (
        "Look for who killed it: `docker stop` after its grace, a watchdog, the kernel (--kernel), a guard "
        "(--guard-log)."
        if state.code == 137
        else "Read the log around the end (--log), and the kernel's lines (--kernel)."
    )
    return Incident(
        signature=known or group(read_line(errors[-1].encode()).text if errors else meaning(state.code)),
        summary=f"unexplained end: {meaning(state.code)}",
        first_at=state.finished_at,
        first_s=state.finished_s,
        evidence=(f"State.ExitCode: {state.code}", f"State.OOMKilled: {state.oom_killed}", *errors),
        advice=advice,
        explained=False,
        detail={"exit_code": state.code},
    )
