"""The processes that a guard owns: found in `/proc`, held by pidfds, so that a reused pid is never hit.

A tree is the root and its descendants, and, where the root leads a session (as everything does that pitstop starts),
all of that session: children that lost their parent keep it. A container is every process of its control group.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from dataclasses import dataclass

_CGROUP_ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


@dataclass(frozen=True, slots=True)
class Stat:
    """One line of `/proc/PID/stat`, as far as it is needed. `started` is in clock ticks since boot."""

    pid: int
    name: str
    state: str
    parent: int
    session: int
    started: int
    threads: int = 1

    @property
    def dead(self) -> bool:
        """Ended: a zombie holds no memory, unless other threads outlive the one that it is named for."""
        return self.state in "ZXx" and self.threads <= 1


def stat_of(pid: int) -> Stat | None:
    """Who `pid` is now; None when there is nobody."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(descriptor, 1024).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return parse_stat(text)


def parse_stat(text: str) -> Stat | None:
    """Read a `stat` line; the name may hold spaces and parentheses of its own."""
    opened, closed = text.find("("), text.rfind(")")
    fields = text[closed + 2 :].split()
    if opened < 0 or len(fields) < 20 or not text[:opened].strip().isdigit():
        return None
    try:
        parent, session, threads, started = (int(fields[at]) for at in (1, 3, 17, 19))
    except ValueError:
        return None
    return Stat(int(text[:opened]), text[opened + 1 : closed], fields[0], parent, session, started, threads)


def all_processes() -> list[Stat]:
    found = (stat_of(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208 - pathlib costs memory here
    return [stat for stat in found if stat is not None]


def tree(processes: Iterable[Stat], roots: Iterable[int], sessions: Iterable[int]) -> set[int]:
    """The pids below `roots`, and those of `sessions` with what is below them."""
    everybody, wanted = list(processes), set(sessions)
    owned = {stat.pid for stat in everybody if stat.session in wanted} | set(roots)
    children: dict[int, list[int]] = {}
    for stat in everybody:
        children.setdefault(stat.parent, []).append(stat.pid)
    open_ends = list(owned)
    while open_ends:
        for child in children.get(open_ends.pop(), ()):
            if child not in owned:
                owned.add(child)
                open_ends.append(child)
    return owned & {stat.pid for stat in everybody}


def cgroup_folder(pid: int, container_id: str) -> str | None:
    """The folder of the control group that carries the container's id; None where it cannot be seen from here."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in sorted(lines, key=lambda line: not line.startswith("0::")):
        _, controllers, path = line.split(":", 2)
        at = path.find(container_id)
        if at < 0 or path.startswith("/.."):
            continue
        end = path.find("/", at)  # the container's own group, above whatever it nests inside
        own = path[: end if end >= 0 else len(path)]
        roots = _CGROUP_ROOTS if not controllers else [f"/sys/fs/cgroup/{controllers.removeprefix('name=')}"]
        for root in roots:
            if os.path.exists(f"{root}{own}/cgroup.procs"):  # noqa: PTH110
                return root + own
    return None


def cgroup_members(folder: str) -> set[int]:
    """Every pid in the group and in the groups nested in it; empty when the group is gone."""
    members: set[int] = set()
    for path, _, _ in os.walk(folder):
        try:
            with open(f"{path}/cgroup.procs", "rb") as file:  # noqa: PTH123
                members.update(int(word) for word in file.read().split())
        except (OSError, ValueError):
            continue
    return members - {0}  # 0 stands for a process outside this pid namespace


def carries(pid: int, mark: bytes) -> bool:
    """Whether a process was started with every NAME=VALUE of the NUL-separated `mark` in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            environ = file.read().split(b"\0")
    except OSError:
        return False
    return all(word in environ for word in mark.split(b"\0"))


class Held:
    """Pidfds of owned processes. What is held stays the same process, whatever becomes of its number."""

    def __init__(self) -> None:
        self._descriptors: dict[int, int] = {}
        self._ended = select.poll()  # a pidfd is readable once its whole process has ended, reaped or not
        self.names: dict[int, str] = {}

    def hold(self, stat: Stat) -> bool:
        """Open `stat`'s process; False when it ended or its number went to another one in between."""
        if stat.pid in self._descriptors:
            return True
        try:
            descriptor = os.pidfd_open(stat.pid)
        except OSError:
            return False
        again = stat_of(stat.pid)
        if again is None or again.started != stat.started:
            os.close(descriptor)
            return False
        self._descriptors[stat.pid] = descriptor
        self._ended.register(descriptor, select.POLLIN)
        self.names[stat.pid] = stat.name
        return True

    @property
    def pids(self) -> list[int]:
        return list(self._descriptors)

    def signal(self, pid: int, number: int) -> bool | None:
        """Send to one held process: True when it was there, False when it is gone, None when it is not allowed."""
        try:
            signal.pidfd_send_signal(self._descriptors[pid], number)
        except PermissionError:
            return None
        except (ProcessLookupError, KeyError):
            return False
        return True

    def release_dead(self) -> None:
        """Let go of what has ended: one system call, whatever the number of processes."""
        ended = {descriptor for descriptor, _ in self._ended.poll(0)}
        for pid, descriptor in [item for item in self._descriptors.items() if item[1] in ended]:
            self._ended.unregister(descriptor)
            os.close(descriptor)
            del self._descriptors[pid]

    def close(self) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()
