"""Where the memory goes, as `pitstop status` shows it: per engine from the GPU driver and from its processes.

`docker stats` counts a container's control group, and memory that CUDA takes on a machine with one shared memory is in
no control group: the second report saw 7.7 GiB there and 52.9 GiB in nvidia-smi for the same engine. The figure is
shown all the same, beside the true ones, because everybody looks at it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pitstop.engines.procfs import Memory, read_memory
from pitstop.launch import command
from pitstop.launch.command import CommandFailed
from pitstop.launch.launcher import Running
from pitstop.services.guard.processes import Stat, all_processes, cgroup_folder, cgroup_members, tree

WHY_DOCKER_STATS_IS_WRONG = (
    "docker stats counts the control group, and GPU memory on a shared-memory machine is in none: a limit set with "
    "--memory does not hold it either"
)
_GPU_S = 5.0
_SIZE = re.compile(r"^(Rss|Pss|SwapPss):\s+(\d{1,15}) kB$", re.MULTILINE)


class EngineMemory(msgspec.Struct, frozen=True, kw_only=True):
    """One engine, in bytes. None: this box does not say (no nvidia-smi, no container, not allowed)."""

    engine: str
    up: bool
    processes: int = 0
    gpu_bytes: int | None = None  # what the driver gives its processes
    host_bytes: int | None = None  # their proportional share of ordinary memory
    swapped_bytes: int | None = None
    docker_stats_bytes: int | None = None  # what `docker stats` would say


class MemoryTable(msgspec.Struct, frozen=True, kw_only=True):
    """The box and its engines, in bytes."""

    engines: tuple[EngineMemory, ...]
    memory: Memory
    floor_bytes: int
    margin_bytes: int | None  # MemAvailable above the guard's floor; negative: it would kill
    unowned_gpu_bytes: int | None  # held on the GPU by processes of no engine here: an orphan, or somebody else
    unowned_gpu_pids: tuple[int, ...]
    gpu_error: str = ""
    docker_stats_note: str = WHY_DOCKER_STATS_IS_WRONG


async def memory_table(
    engines: Mapping[str, Running | None], floor_bytes: int, *, procfs: Path = Path("/proc")
) -> MemoryTable:
    """Look once; `engines` is what each launcher's `inspect` returned. Never raises for what it finds."""
    gpu, error = await gpu_by_pid()
    owned = await asyncio.to_thread(_processes, engines)
    rows = tuple(_engine(name, engines[name], pids, gpu) for name, pids in owned.items())
    memory = read_memory(procfs)
    strangers = set(gpu or {}) - set().union(*owned.values())
    return MemoryTable(
        engines=rows,
        memory=memory,
        floor_bytes=floor_bytes,
        margin_bytes=None if memory.available_bytes is None else memory.available_bytes - floor_bytes,
        unowned_gpu_bytes=None if gpu is None else sum(gpu[pid] for pid in strangers),
        unowned_gpu_pids=tuple(sorted(strangers)),
        gpu_error=error,
    )


async def gpu_by_pid(binary: str = "nvidia-smi") -> tuple[dict[int, int] | None, str]:
    """Bytes that each process holds on the GPUs, or None and why."""
    argv = [binary, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    try:
        return parse_gpu_processes((await command.run(argv, environ=os.environ, timeout_s=_GPU_S)).out), ""
    except CommandFailed as failed:
        return None, failed.message


def parse_gpu_processes(text: str) -> dict[int, int]:
    """`pid, MiB` lines; a process on several GPUs is added up, one whose memory is `[N/A]` is left out."""
    held: dict[int, int] = {}
    for line in text.splitlines():
        pid, _, size = (part.strip() for part in line.partition(","))
        if pid.isdigit() and size.isdigit() and len(size) < 12:
            held[int(pid)] = held.get(int(pid), 0) + int(size) * 2**20
    return held


def docker_stats_of(folder: Path) -> int | None:
    """What `docker stats` makes of a control group: its usage without the file cache that it could drop."""
    for usage, statistic in (("memory.current", "inactive_file"), ("memory.usage_in_bytes", "total_inactive_file")):
        used = _text(folder / usage).strip()
        if used.isdigit():
            found = re.search(rf"^{statistic} (\d{{1,20}})$", _text(folder / "memory.stat"), re.MULTILINE)
            return max(0, int(used) - (int(found[1]) if found else 0))
    return None


def _processes(engines: Mapping[str, Running | None]) -> dict[str, set[int]]:
    everybody = all_processes()
    return {name: _pids(running, everybody) if running else set() for name, running in engines.items()}


def _pids(running: Running, everybody: list[Stat]) -> set[int]:
    if running.pid is None:
        return set()
    folder = cgroup_folder(running.pid, running.container_id) if running.container_id else None
    if folder is not None and (members := cgroup_members(folder)):
        return members
    leads = any(one.pid == running.pid == one.session for one in everybody)
    return tree(everybody, [running.pid], [running.pid] if leads else [])


def _engine(name: str, running: Running | None, pids: set[int], gpu: Mapping[int, int] | None) -> EngineMemory:
    if running is None:
        return EngineMemory(engine=name, up=False)
    host, swapped = _host(pids)
    return EngineMemory(
        engine=name,
        up=True,
        processes=len(pids),
        gpu_bytes=None if gpu is None else sum(size for pid, size in gpu.items() if pid in pids),
        host_bytes=host,
        swapped_bytes=swapped,
        docker_stats_bytes=_control_group(running),
    )


def _host(pids: set[int]) -> tuple[int | None, int | None]:
    """Proportional set size and swap over the processes; resident size where the share may not be read."""
    sizes = [found for pid in pids if (found := _sizes(pid))]
    if not sizes:
        return None, None
    host = sum(one.get("Pss", one.get("Rss", 0)) for one in sizes)
    swapped = [one["SwapPss"] for one in sizes if "SwapPss" in one]
    return host, sum(swapped) if swapped else None


def _sizes(pid: int) -> dict[str, int]:
    text = _text(Path(f"/proc/{pid}/smaps_rollup"))
    if text:
        return {name: int(size) * 1024 for name, size in _SIZE.findall(text)}
    resident = re.search(r"^VmRSS:\s+(\d{1,15}) kB$", _text(Path(f"/proc/{pid}/status")), re.MULTILINE)
    return {"Rss": int(resident[1]) * 1024} if resident else {}


def _control_group(running: Running) -> int | None:
    """The memory group of the container, under either version of control groups."""
    if running.pid is None or not running.container_id:
        return None
    for line in _text(Path(f"/proc/{running.pid}/cgroup")).splitlines():
        _, controllers, path = ([*line.split(":", 2), "", ""])[:3]
        if running.container_id in path and controllers in ("", "memory"):
            root = Path("/sys/fs/cgroup") / controllers
            found = docker_stats_of(root / path.lstrip("/"))
            if found is not None:
                return found
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
