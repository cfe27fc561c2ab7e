"""A process that cannot be mistaken for another: a pid alone is reused, and means nothing after a reboot."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


class ProcessId(msgspec.Struct, frozen=True):
    """A pid with its start time (clock ticks since boot, field 22 of /proc/PID/stat) and the boot it belongs to."""

    pid: int
    start_ticks: int
    boot_id: str


def own_id() -> ProcessId:
    """This process."""
    mine = process_id(os.getpid())
    assert mine is not None
    return mine


def process_id(pid: int, proc: Path = Path("/proc")) -> ProcessId | None:
    """The process with this pid now; None when there is none, or only its zombie."""
    try:
        fields = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    state, start_ticks = fields[0], int(fields[19])
    return None if state in "ZX" else ProcessId(pid, start_ticks, boot_id(proc))


def boot_id(proc: Path = Path("/proc")) -> str:
    """The kernel's name for this boot; a new one after every restart of the machine."""
    return (proc / "sys/kernel/random/boot_id").read_text().strip()


def is_alive(process: ProcessId, proc: Path = Path("/proc")) -> bool:
    """Whether that very process still runs."""
    return process_id(process.pid, proc) == process
