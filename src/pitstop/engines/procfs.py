"""Memory, pressure, paging and compaction as the kernel counts them, from /proc or a recorded copy of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

_KIB = 1024  # "kB" in meminfo is KiB
_MAX_BYTES = 256 * 2**10  # of one file; vmstat has about 5 KB
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Gauges of now. None: this kernel does not say."""

    total_bytes: int | None = None
    available_bytes: int | None = None
    free_bytes: int | None = None
    page_cache_bytes: int | None = None  # Cached less Shmem: what the kernel can give back
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """Counts since the machine started, and the load of now. None: this kernel does not say."""

    load_1min: float | None = None
    psi_memory_some_s: float | None = None  # at least one task waited for memory
    psi_memory_full_s: float | None = None  # all of them did
    psi_cpu_some_s: float | None = None
    psi_io_some_s: float | None = None
    kcompactd_cpu_s: float | None = None  # over all nodes
    compaction_stalls: int | None = None
    pages_swapped_in: int | None = None
    pages_swapped_out: int | None = None
    oom_kills: int | None = None


def read_memory(procfs: Path = Path("/proc")) -> Memory:
    """One reading. Never raises: a file that is missing, torn or nonsense gives None for what it would have said."""
    meminfo = _meminfo(_text(procfs / "meminfo"))
    return Memory(
        total_bytes=meminfo.get("MemTotal"),
        available_bytes=meminfo.get("MemAvailable"),
        free_bytes=meminfo.get("MemFree"),
        page_cache_bytes=_less(meminfo.get("Cached"), meminfo.get("Shmem")),
        swap_total_bytes=meminfo.get("SwapTotal"),
        swap_used_bytes=_less(meminfo.get("SwapTotal"), meminfo.get("SwapFree")),
    )


def read_activity(procfs: Path = Path("/proc")) -> Activity:
    """One reading, as `read_memory`."""
    vmstat, pressure = _counts(_text(procfs / "vmstat")), _text(procfs / "pressure/memory")
    return Activity(
        load_1min=_load(_text(procfs / "loadavg")),
        psi_memory_some_s=_stalled(pressure, "some"),
        psi_memory_full_s=_stalled(pressure, "full"),
        psi_cpu_some_s=_stalled(_text(procfs / "pressure/cpu"), "some"),
        psi_io_some_s=_stalled(_text(procfs / "pressure/io"), "some"),
        kcompactd_cpu_s=_kcompactd(procfs),
        compaction_stalls=vmstat.get("compact_stall"),
        pages_swapped_in=vmstat.get("pswpin"),
        pages_swapped_out=vmstat.get("pswpout"),
        oom_kills=vmstat.get("oom_kill"),
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("ascii", "replace")
    except OSError:  # pressure files may exist and answer EOPNOTSUPP
        return ""


def _meminfo(text: str) -> dict[str, int]:
    found = re.finditer(r"^(\w+):[ \t]+(\d{1,15}) kB$", text, re.MULTILINE | re.ASCII)
    return {match[1]: int(match[2]) * _KIB for match in found}


def _counts(text: str) -> dict[str, int]:
    found = re.finditer(r"^(\w+) (\d{1,20})$", text, re.MULTILINE | re.ASCII)
    return {match[1]: int(match[2]) for match in found}


def _stalled(text: str, kind: str) -> float | None:
    match = re.search(rf"^{kind} .*\btotal=(\d{{1,20}})$", text, re.MULTILINE | re.ASCII)
    return int(match[1]) / 1e6 if match else None


def _load(text: str) -> float | None:
    match = re.match(r"(\d{1,9}\.\d+) ", text, re.ASCII)
    return float(match[1]) if match else None


def _less(whole: int | None, part: int | None) -> int | None:
    return whole - part if whole is not None and part is not None and part <= whole else None


def _kcompactd(procfs: Path) -> float | None:
    """CPU seconds of the threads that compact memory, one a NUMA node; None where none can be seen (a container)."""
    try:
        names = [name for name in os.listdir(procfs) if name.isdigit()]  # noqa: PTH208 - names only
    except OSError:
        return None
    spent = [
        _cpu_s(_text(procfs / name / "stat")) for name in names if _text(procfs / name / "comm")[:9] == "kcompactd"
    ]
    known = [seconds for seconds in spent if seconds is not None]
    return sum(known) if known else None


def _cpu_s(stat: str) -> float | None:
    """User and system time of `/proc/PID/stat`, whose name in parentheses may hold anything."""
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 13 or not (fields[11].isdigit() and fields[12].isdigit()):
        return None
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
