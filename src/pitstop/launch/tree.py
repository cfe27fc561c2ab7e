"""Which processes belong to an engine, and how all of them are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pitstop.launch import proc
from pitstop.launch.mark import Mark
from pitstop.launch.proc import Process


@dataclass(frozen=True)
class Root:
    """The first process of a launch, as it was recorded or found."""

    pid: int
    start_ticks: int


@dataclass(frozen=True)
class Witness:
    """What a process's environment says: its mark, and whether anything could be read at all.

    Programs that rename themselves (`VLLM::EngineCore`) may overwrite the environment that the kernel shows.
    """

    mark: Mark | None
    silent: bool


_KTHREADD = 2
_BECOMING_S = 0.1  # a busy machine may interrupt an `execve` for some hundredths of a second
_ENDED: dict[Root, int] = {}


def members(
    table: Mapping[int, Process], witnesses: Mapping[int, Witness], engine: str, home: str, root: Root | None
) -> dict[int, Process]:
    """Every living process of the engine. Pure.

    A process belongs to it when it carries the mark, when it lies in the session that the launch opened, or when it
    descends from such a process. A session whose leader is gone could be a later one under the same number, so its
    members must carry the mark, or say nothing.
    """
    found = {pid for pid, one in witnesses.items() if one.mark is not None and one.mark.belongs_to(engine, home)}
    if root is not None:
        found |= _session(table, witnesses, root)
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found and not _is_another_engine(witnesses.get(child), engine, home):
                found.add(child)
                waiting.append(child)
    return {pid: table[pid] for pid in found if pid in table and not table[pid].is_dead}


def living(engine: str, home: str, root: Root | None) -> dict[int, Process]:
    """The engine's processes as they are now; never this process or one of its ancestors."""
    table = proc.processes()
    witnesses = {pid: _witness(process) for pid, process in table.items()}
    found = members(table, witnesses, engine, home, root)
    for ancestor in _ancestors(table, os.getpid()):
        found.pop(ancestor, None)
    return found


def send(targets: Iterable[Process], number: signal.Signals) -> list[Process]:
    """Signal each process that is still the one that was meant; returns those that were signalled."""
    return [process for process in targets if _send_one(process, number)]


def exit_state(root: Root) -> int | None:
    """How our own child ended: its exit code, or its signal as a negative number; None when it runs, or was not ours.

    Asking takes the zombie away; the answer is kept for whoever asks again.
    """
    if root not in _ENDED:
        now = proc.read(root.pid)
        if now is not None and now.start_ticks == root.start_ticks and (state := _reap(root.pid)) is not None:
            _ENDED[root] = state
    return _ENDED.get(root)


def _reap(pid: int) -> int | None:
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if done == pid else None


def _send_one(process: Process, number: signal.Signals) -> bool:
    try:
        handle = os.pidfd_open(process.pid)
    except (ProcessLookupError, PermissionError):
        return False
    try:
        # The handle is open, so the number cannot be given away any more: now see whether it is still the same one.
        now = proc.read(process.pid)
        if now is None or now.start_ticks != process.start_ticks:
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(handle, number)
            return True
        return False
    finally:
        os.close(handle)


def _session(table: Mapping[int, Process], witnesses: Mapping[int, Witness], root: Root) -> set[int]:
    leader = table.get(root.pid)
    if leader is not None and leader.start_ticks != root.start_ticks:
        return set()  # the number was given to another process
    members_of_it = {
        one.pid for one in table.values() if one.session == root.pid and one.start_ticks >= root.start_ticks
    }
    if leader is not None:
        return members_of_it | {root.pid}
    return {pid for pid in members_of_it if (witness := witnesses.get(pid)) is not None and witness.silent}


def _is_another_engine(witness: Witness | None, engine: str, home: str) -> bool:
    """An engine that starts pitstop, which starts an engine: the inner one is not ours to stop."""
    return witness is not None and witness.mark is not None and not witness.mark.belongs_to(engine, home)


def _witness(process: Process) -> Witness:
    environ = proc.environment(process.pid)
    deadline = time.monotonic() + _BECOMING_S
    while environ == {} and _is_becoming_another(process) and time.monotonic() < deadline:
        time.sleep(0.002)
        environ = proc.environment(process.pid)
    return Witness(Mark.read(environ), silent=not environ)


def _is_becoming_another(process: Process) -> bool:
    """In the middle of `execve` a process shows neither environment nor command line; kernel threads never do."""
    return not process.is_dead and process.parent not in (0, _KTHREADD) and not proc.arguments(process.pid)


def _ancestors(table: Mapping[int, Process], pid: int) -> list[int]:
    chain: list[int] = []
    while pid in table and pid not in chain:
        chain.append(pid)
        pid = table[pid].parent
    return chain
