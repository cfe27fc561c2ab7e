"""What is kept of every boot beside its figures: who it was, how long it took, what it holds, what its log says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from pitstop.core.errors import PitstopError
from pitstop.decisions.incidents.kernel import KernelFact, read_kernel
from pitstop.decisions.memory_curve import lowest_available, seconds_of
from pitstop.engines.logs import count_cuda_errors, parse_startup
from pitstop.engines.spec_logs import speculation
from pitstop.launch.memory_back import read_memory
from pitstop.services.evidence import kernel_lines
from pitstop.services.site import Site

LOG_LINES = 20_000  # of this boot; start-up and errors stand in them


@dataclass(frozen=True)
class BootTimes:
    """When a boot began, seconds until it was ready, and what was available before it and once it served."""

    began_at: str  # ISO 8601
    boot_s: float
    available_before_bytes: int
    available_ready_bytes: int


async def boot_info(site: Site, times: BootTimes, guard_rows: Path, now: str) -> dict[str, Any]:
    """The info record of the boot that runs now. What a log, a server or the kernel does not say is left out or None.

    Memory is what the box had less of than before the boot: at the worst since, when it got ready, and after measuring.
    """
    assert site.spec is not None
    lines = await _log(site)
    counted = speculation(lines)
    before, after = times.available_before_bytes, read_memory().available_bytes
    lowest = min(_lowest(guard_rows, times.began_at, now) or after, times.available_ready_bytes, after)
    return {
        **asdict(times),
        "image": site.spec.image or None,
        "overrides": site.spec.overrides,
        "memory_peak_bytes": before - lowest,
        "memory_held_bytes": before - times.available_ready_bytes,
        "memory_steady_bytes": before - after,
        "available_after_measuring_bytes": after,
        "startup": {name: value for name, value in asdict(parse_startup(lines)).items() if value is not None},
        "cuda_errors_in_log": count_cuda_errors(lines),
        "gpu_errors_in_kernel_log": await _xids(times.began_at),
        "speculation_in_log": _known(msgspec.to_builtins(counted)),
        "speculation_counters": _speculative(await _counters(site)),
    }


def _lowest(rows: Path, since: str, until: str) -> int | None:
    """By the guard's readings; None where there are none."""
    try:
        return lowest_available(rows.read_text("utf-8", "replace").split("\n"), since, until)
    except OSError:
        return None


async def _xids(since: str) -> int | None:
    """Faults of a GPU that the kernel reported since then; None where its log may not be read."""
    lines = await kernel_lines()
    began = seconds_of(since)
    if not lines or began is None:
        return None
    told = read_kernel(line.encode() for line in lines)
    return sum(one.fact is KernelFact.XID and (one.epoch_s or began) >= began for one in told)


def _speculative(counters: dict[str, Any]) -> dict[str, Any]:
    wanted = ("drafts", "draft_tokens", "accepted_tokens", "accepted_per_position")
    return {name: counters[name] for name in wanted if name in counters}


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


async def _counters(site: Site) -> dict[str, Any]:
    try:
        counters = await site.adapter.counters(site.endpoint)
    except PitstopError:
        return {}
    return _known(asdict(counters)) if counters is not None else {}


async def _log(site: Site) -> list[str]:
    if site.launcher is None or site.spec is None:
        return []
    try:
        return await site.launcher.log_tail(site.spec, LOG_LINES)
    except (PitstopError, OSError):
        return []
