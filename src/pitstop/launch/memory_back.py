"""Wait until a stopped engine's memory is really back: measured, with a time limit, and with names when it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pitstop.core.errors import EngineFailed
from pitstop.decisions import memory_back
from pitstop.decisions.memory_back import Answer, MemoryPolicy
from pitstop.launch import orphans
from pitstop.launch.launcher import LaunchSpec
from pitstop.launch.orphans import Orphan

MEMINFO = Path("/proc/meminfo")
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_POLL_S = 1.0
Progress = Callable[[str, float], None]  # what it waits for, seconds since it began


@dataclass(frozen=True)
class Memory:
    """Two lines of /proc/meminfo, in bytes. Some engines' start-up check reads the second (vLLM: MemFree)."""

    available_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class MemoryBack:
    """How waiting ended. On `timeout` nothing may be launched blindly; `orphans` says who may hold it."""

    answer: Answer
    reason: str
    memory: Memory
    waited_s: float
    readings: tuple[tuple[float, int], ...]  # seconds since the start of waiting, bytes available
    orphans: tuple[Orphan, ...] = ()

    def sentence(self) -> str:
        """The reason and the orphans, for a person."""
        return "\n".join([self.reason, *(f"still there: {orphan}" for orphan in self.orphans)])


async def wait_until_back(
    spec: LaunchSpec,
    home: str,
    policy: MemoryPolicy,
    *,
    other_engines: frozenset[int] = frozenset(),
    progress: Progress = lambda _what, _elapsed_s: None,
    meminfo: Path = MEMINFO,
    poll_s: float = _POLL_S,
) -> MemoryBack:
    """Read memory until the decision is not `wait`. `other_engines` are processes that may stay."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    state = memory_back.begin(0.0)
    readings: list[tuple[float, int]] = []
    while True:
        elapsed = loop.time() - began
        memory = read_memory(meminfo)
        readings.append((elapsed, memory.available_bytes))
        state, judgement = memory_back.decide(state, memory.available_bytes, policy, elapsed)
        if judgement.answer is not Answer.WAIT:
            found = () if judgement.answer is Answer.BACK else await orphans.left_over(spec, home, other_engines)
            return MemoryBack(judgement.answer, judgement.reason, memory, elapsed, tuple(readings), tuple(found))
        progress(judgement.reason, elapsed)
        await asyncio.sleep(poll_s)


def read_memory(meminfo: Path = MEMINFO) -> Memory:
    """What the kernel says is available and free; its `kB` are KiB. EngineFailed when it does not say."""
    try:
        lines = meminfo.read_text().splitlines()
        values = {key: int(rest.split()[0]) * 1024 for key, _, rest in (line.partition(":") for line in lines)}
        return Memory(values["MemAvailable"], values["MemFree"])
    except (OSError, KeyError, ValueError, IndexError) as error:
        raise EngineFailed(f"{meminfo} does not say how much memory is available: {error!r}.") from error


def drop_page_cache(switch: Path = _DROP_CACHES) -> str:
    """Let the kernel free clean page cache, for engines whose start-up check reads MemFree; why not, or ""."""
    try:
        switch.write_text("1")
    except OSError as error:
        return f"the page cache could not be dropped ({error.strerror}); that needs root."
    return ""
