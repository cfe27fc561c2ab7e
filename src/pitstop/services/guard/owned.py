"""What one guard owns: one process tree, or one container. Nothing else is ever signalled."""

from __future__ import annotations

import os
import signal

from pitstop.services.guard.processes import (
    Held,
    Stat,
    all_processes,
    carries,
    cgroup_folder,
    cgroup_members,
    stat_of,
    tree,
)

# Killing one of these would take the box, or the way into it, along with the engine.
_PROTECTED = frozenset({"systemd", "init", "sshd", "dockerd", "containerd", "containerd-shim", "podman", "conmon"})
_ROUNDS = 20  # of killing and looking for what was forked meanwhile


class Owned:
    """The engine's processes, held by pidfds. Every method looks at the world anew and throws nothing."""

    def __init__(self) -> None:
        self._held = Held()
        self._root: Stat | None = None
        self._container_id = ""
        self._folder: str | None = None
        self.denied: set[int] = set()

    @property
    def names(self) -> dict[int, str]:
        """The held pids and what they call themselves; those that ended stay until the next `refresh`."""
        return {pid: self._held.names[pid] for pid in self._held.pids}

    @property
    def up(self) -> bool:
        """Whether any of it still runs."""
        self._held.release_dead()
        return bool(self._held.pids)

    def own_process(self, pid: int) -> str:
        """Own `pid` and its tree; returns why not, or an empty string."""
        stat = stat_of(pid)
        if stat is None or stat.dead:
            return f"there is no process {pid}"
        if refusal := _refusal(stat):
            return refusal
        self._root, self._container_id, self._folder = stat, "", None
        self.refresh()
        return "" if self.up else f"process {pid} ended while the guard took hold of it"

    def own_container(self, container_id: str, pid: int) -> str:
        """Own every process of the container whose first process is `pid`; returns why not, or an empty string."""
        stat = stat_of(pid)
        if stat is None or stat.dead:
            return f"the container's process {pid} is gone, or runs where this machine's /proc does not show it"
        self._root, self._container_id, self._folder = stat, container_id, cgroup_folder(pid, container_id)
        self.refresh()
        return "" if self.up else f"the container's process {pid} ended while the guard took hold of it"

    def refresh(self) -> None:
        """Let go of what ended, take hold of what was forked since."""
        self._held.release_dead()
        if self._root is None and self._folder is None:
            return
        members = cgroup_members(self._folder) if self._folder else set()
        found = [stat for pid in members if (stat := stat_of(pid)) is not None]
        if not members:
            found = self._in_tree()
        for stat in found:
            if not stat.dead and stat.pid != os.getpid() and (self._container_id or stat.name not in _PROTECTED):
                self._held.hold(stat)
        if not self.up:
            self._root = None  # its number may belong to somebody else from here on; a container's id never will

    def signal_all(self, number: int) -> None:
        """Send to everything held. With number 0 this is the dry run of a kill: same code, no effect."""
        for pid in self._held.pids:
            if self._held.signal(pid, number) is None:
                self.denied.add(pid)

    def kill(self) -> dict[int, str]:
        """SIGKILL all of it, again and again until nothing new turns up; returns whom it hit."""
        hit = self.names
        self.signal_all(signal.SIGKILL)
        for _ in range(_ROUNDS):
            before = set(self._held.pids)
            self.refresh()
            fresh = set(self._held.pids) - before
            hit.update({pid: self._held.names[pid] for pid in fresh})
            if not fresh:
                break
            self.signal_all(signal.SIGKILL)
        return hit

    def kill_orphans(self, mark: str) -> dict[int, str]:
        """Kill again, and whatever else on the box carries the engine's mark: a worker that left tree and session."""
        if mark:
            wanted = mark.encode()
            for stat in all_processes():
                if stat.pid != os.getpid() and not stat.dead and carries(stat.pid, wanted):
                    self._held.hold(stat)
        return self.kill()

    def close(self) -> None:
        self._held.close()

    def _in_tree(self) -> list[Stat]:
        root, processes = self._root, all_processes()
        if root is None:
            return []
        by_pid = {stat.pid: stat for stat in processes}
        now = by_pid.get(root.pid)
        same = now is not None and now.started == root.started
        roots = {pid for pid in self._held.pids if pid in by_pid} | ({root.pid} if same else set())
        leads = root.session == root.pid and (same or now is None)
        return [by_pid[pid] for pid in tree(processes, roots, {root.pid} if leads else ())]


def _refusal(stat: Stat) -> str:
    if stat.pid <= 2 or stat.parent == 2:
        return f"process {stat.pid} ({stat.name}) belongs to the kernel or is the first process of the system"
    if stat.name in _PROTECTED:
        return f"process {stat.pid} is {stat.name}: the box, or the way into it, would go with it"
    ancestor: Stat | None = stat_of(os.getpid())
    while ancestor is not None and ancestor.pid > 1:
        if ancestor.pid == stat.pid:
            return f"process {stat.pid} ({stat.name}) is the guard itself or started it"
        ancestor = stat_of(ancestor.parent)
    return ""
