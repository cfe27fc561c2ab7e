"""Engine processes that were left over: who still holds the memory, the port or the GPU, by name and size."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pitstop.core.units import format_size
from pitstop.launch import command, ports, proc
from pitstop.launch.command import CommandFailed
from pitstop.launch.launcher import LaunchSpec
from pitstop.launch.mark import Mark

# How serving engines call their processes; a killed API server leaves the ones that hold the memory.
_NAMES = ("VLLM::", "vllm serve", "vllm.entrypoints", "EngineCore", "sglang", "llama-server", "llama_server", "ollama")
_QUERY = ("nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader,nounits")


@dataclass(frozen=True)
class Orphan:
    """One process, its memory, and what it was recognised by."""

    pid: int
    command: str
    memory_bytes: int | None  # the kernel's share of it; does not contain GPU memory on a box that shares it
    gpu_bytes: int | None  # as the driver counts it
    why: str

    def __str__(self) -> str:
        held = [f"{format_size(size)} {kind}" for size, kind in self._sizes() if size is not None]
        return f"pid {self.pid} ({self.command}), {' and '.join(held) or 'memory not known'}, {self.why}"

    def _sizes(self) -> tuple[tuple[int | None, str], ...]:
        return (self.memory_bytes, "of RAM"), (self.gpu_bytes, "on the GPU")


async def left_over(spec: LaunchSpec, home: str, except_pids: Collection[int] = ()) -> list[Orphan]:
    """Processes of the engine, or of any engine by name, that are not among `except_pids`; the largest first."""
    on_gpu = await gpu_processes(spec.base_env)
    found = await asyncio.to_thread(_find, spec, home, on_gpu)
    kept = [one for one in found if one.pid not in except_pids]
    return sorted(kept, key=lambda one: -(one.gpu_bytes or 0) - (one.memory_bytes or 0))


async def gpu_processes(environ: Mapping[str, str]) -> dict[int, int | None]:
    """Bytes on the GPU per process, as the driver tells; empty where there is no driver."""
    try:
        done = await command.run(_QUERY, environ=environ, timeout_s=10.0)
    except CommandFailed:
        return {}
    return parse_compute_apps(done.out)


def parse_compute_apps(text: str) -> dict[int, int | None]:
    """Read `pid, name, MiB` lines; `[N/A]`, which a GB10 prints for memory, is None. Pure."""
    found: dict[int, int | None] = {}
    for line in text.splitlines():
        first, _, rest = line.partition(",")
        mib = rest.rpartition(",")[2].strip()
        if first.strip().isdecimal():
            pid = int(first)
            found[pid] = int(mib) * 2**20 + (found.get(pid) or 0) if mib.isdecimal() else found.get(pid)
    return found


def _find(spec: LaunchSpec, home: str, on_gpu: Mapping[int, int | None]) -> list[Orphan]:
    reasons: dict[int, str] = dict.fromkeys(on_gpu, "holds the GPU")
    for pid, process in proc.processes().items():
        if process.is_dead:
            continue
        mark = Mark.read(proc.environment(pid))
        if mark is not None and mark.belongs_to(spec.engine, home):
            reasons[pid] = f"was started as engine {spec.engine}"
        elif pid not in reasons and _is_named_like_an_engine(pid, process.name):
            reasons[pid] = "is called like an engine"
    for listener in ports.listeners(spec.port, spec.host):
        reasons |= dict.fromkeys(listener.pids, f"listens on port {spec.port}")
    return [
        Orphan(pid, proc.command(pid), proc.resident_bytes(pid), on_gpu.get(pid), why) for pid, why in reasons.items()
    ]


def _is_named_like_an_engine(pid: int, name: str) -> bool:
    text = f"{name} {proc.command(pid)}"
    return any(part in text for part in _NAMES)
