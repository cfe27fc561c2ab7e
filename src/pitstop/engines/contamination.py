"""What happened on the box during a run, and whether that makes the run's figures doubtful. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pitstop.core.documents import Notice
from pitstop.core.units import format_size
from pitstop.engines.conditions import Conditions
from pitstop.engines.since import ForeignTraffic


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """From where on a change is worth a label. Each rests on few reports: settings, not constants of nature."""

    # Every slow run of the second report coincided with kcompactd0 near 100 %; a fifth of a core is far from idle.
    kcompactd_share: float = 0.2
    swap_growth_bytes: int = 256 * 2**20
    swapped_out_pages: int = 25_600  # 100 MiB of 4 KiB pages: something was pushed out, not just swept
    memory_stall_share: float = 0.01  # of the time, all tasks waiting for memory


DEFAULT = Limits()
# Running into the power limit is the normal state of a busy GPU; the other reasons are not.
_NORMAL_SLOWDOWN = "power cap"


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """After minus before. None where either look did not know, or where the machine was restarted in between."""

    elapsed_s: float
    available_bytes: int | None = None
    page_cache_bytes: int | None = None
    swap_used_bytes: int | None = None
    psi_memory_some_s: float | None = None
    psi_memory_full_s: float | None = None
    psi_cpu_some_s: float | None = None
    psi_io_some_s: float | None = None
    kcompactd_cpu_s: float | None = None
    compaction_stalls: int | None = None
    pages_swapped_in: int | None = None
    pages_swapped_out: int | None = None
    oom_kills: int | None = None


_GAUGES = ("available_bytes", "page_cache_bytes", "swap_used_bytes")
_COUNTS = tuple(name for name in Changes.__struct_fields__ if name not in {"elapsed_s", *_GAUGES})


def changes(before: Conditions, after: Conditions) -> Changes:
    """The difference of two snapshots."""
    elapsed = datetime.fromisoformat(after.at) - datetime.fromisoformat(before.at)
    gauges = {name: _difference(before.memory, after.memory, name) for name in _GAUGES}
    counts = {name: _difference(before.activity, after.activity, name) for name in _COUNTS}
    known = {name: (value if value is not None and value >= 0 else None) for name, value in counts.items()}
    return msgspec.convert({"elapsed_s": elapsed.total_seconds(), **gauges, **known}, Changes)


def contaminations(
    before: Conditions, after: Conditions, foreign: dict[str, ForeignTraffic], limits: Limits = DEFAULT
) -> tuple[Notice, ...]:
    """Why the figures between two snapshots are not those of a clean box; empty when nothing is known against them.

    `foreign` holds what the counters of each engine on the box saw beyond one's own requests.
    """
    done = changes(before, after)
    found = [*(notice for name, traffic in foreign.items() for notice in _of_traffic(name, traffic))]
    found += _of_compaction(done, limits) + _of_swap(done, limits) + _of_stalls(done, limits) + _of_gpus(before, after)
    if done.oom_kills:
        found.append(Notice(code="oom-kill", text=f"the kernel killed {done.oom_kills} processes for want of memory"))
    return tuple(found)


def _difference(before: msgspec.Struct, after: msgspec.Struct, name: str) -> float | int | None:
    was, now = getattr(before, name), getattr(after, name)
    return None if was is None or now is None else now - was


def _of_traffic(name: str, traffic: ForeignTraffic) -> list[Notice]:
    if traffic.reset:
        return [Notice(code="counter-reset", text=f"{name}: {traffic.reset}")]
    found = []
    if traffic.running_before:
        text = f"{name}: {traffic.running_before} requests were running before the first own one"
        found.append(Notice(code="foreign-requests", text=text))
    if traffic.requests:
        text = f"{name}: {traffic.requests} requests came from somebody else"
        found.append(Notice(code="foreign-requests", text=text))
    elif traffic.generation_tokens and traffic.requests is None:
        text = f"{name}: {traffic.generation_tokens} tokens were generated for somebody else"
        found.append(Notice(code="foreign-requests", text=text))
    if traffic.running_after:
        text = f"{name}: {traffic.running_after} requests were running after the last own one"
        found.append(Notice(code="foreign-requests", text=text))
    return found


def _of_compaction(done: Changes, limits: Limits) -> list[Notice]:
    if done.kcompactd_cpu_s is None or done.kcompactd_cpu_s <= limits.kcompactd_share * done.elapsed_s:
        return []
    text = (
        f"the kernel compacted memory for {done.kcompactd_cpu_s:.1f} s of {done.elapsed_s:.0f} s; "
        "vm.compaction_proactiveness = 0 stops that"
    )
    return [Notice(code="kcompactd", text=text)]


def _of_swap(done: Changes, limits: Limits) -> list[Notice]:
    grown, pages = done.swap_used_bytes or 0, done.pages_swapped_out or 0
    if grown <= limits.swap_growth_bytes and pages <= limits.swapped_out_pages:
        return []
    return [Notice(code="swap", text=f"swap grew by {format_size(grown)}, {pages} pages were written out")]


def _of_stalls(done: Changes, limits: Limits) -> list[Notice]:
    if done.psi_memory_full_s is None or done.psi_memory_full_s <= limits.memory_stall_share * done.elapsed_s:
        return []
    text = f"every task waited for memory during {done.psi_memory_full_s:.1f} s of {done.elapsed_s:.0f} s"
    return [Notice(code="memory-pressure", text=text)]


def _of_gpus(before: Conditions, after: Conditions) -> list[Notice]:
    slowed = {
        f"GPU {gpu.index}: {reason}"
        for look in (before, after)
        for gpu in look.gpus or ()
        for reason in gpu.slowed_by or ()
        if reason != _NORMAL_SLOWDOWN
    }
    return [Notice(code="gpu-slowed", text=f"clocks were held down ({what})") for what in sorted(slowed)]
