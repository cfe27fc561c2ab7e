"""The processes of a container or a unit, by the control group that the kernel keeps them in."""

from __future__ import annotations

from pitstop.launch import proc
from pitstop.launch.proc import Process


def processes_of(key: str) -> list[Process]:
    """Every living process whose control group has `key` (a container's id, `NAME.service`) as a part of its path."""
    table = proc.processes()
    return [one for one in table.values() if not one.is_dead and _in_group(one.pid, key)]


def names(path: str, key: str) -> bool:
    """Whether a control group's path belongs to `key`: `/docker/ID`, `/x.slice/docker-ID.scope`, `libpod-ID`. Pure."""
    parts = (part.removesuffix(".scope").rpartition("-")[2] if len(key) == 64 else part for part in path.split("/"))
    return key in parts


def _in_group(pid: int, key: str) -> bool:
    try:
        lines = (proc.PROC / str(pid) / "cgroup").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return any(names(line.split(":", 2)[-1], key) for line in lines)
