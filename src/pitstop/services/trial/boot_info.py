"""What is kept of every boot beside its figures: who it was, how long it took, what it holds, what its log says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from pitstop.core.errors import PitstopError
from pitstop.engines.logs import count_cuda_errors, parse_startup
from pitstop.engines.spec_logs import speculation
from pitstop.launch.memory_back import read_memory
from pitstop.services.site import Site

LOG_LINES = 20_000  # of this boot; start-up and errors stand in them


@dataclass(frozen=True)
class BootTimes:
    """Seconds from the start to readiness, and what was available before the start and once it served."""

    boot_s: float
    available_before_bytes: int
    available_ready_bytes: int


async def boot_info(site: Site, times: BootTimes) -> dict[str, Any]:
    """The info record of the boot that runs now. A log or a server that says nothing leaves its part out."""
    assert site.spec is not None
    lines = await _log(site)
    counted = speculation(lines)
    return {
        **asdict(times),
        "image": site.spec.image or None,
        "overrides": site.spec.overrides,
        "memory_held_bytes": times.available_before_bytes - times.available_ready_bytes,
        "available_after_measuring_bytes": read_memory().available_bytes,
        "startup": {name: value for name, value in asdict(parse_startup(lines)).items() if value is not None},
        "cuda_errors_in_log": count_cuda_errors(lines),
        "speculation_in_log": _known(msgspec.to_builtins(counted)),
        "speculation_counters": _speculative(await _counters(site)),
    }


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
