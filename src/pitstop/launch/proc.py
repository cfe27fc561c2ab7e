"""What the kernel says about processes, read from /proc: the only witness that a restart of pitstop cannot confuse."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pitstop.core.secrets import redacted

PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_MAX_COMMAND = 160  # characters of a command line that are shown to a person


@dataclass(frozen=True)
class Process:
    """One line of the process table. `pid` and `start_ticks` together name a process for one boot of the machine."""

    pid: int
    parent: int
    session: int
    start_ticks: int
    state: str  # as in ps: R, S, D, Z…
    name: str  # as the kernel shortened it to 15 bytes

    @property
    def is_dead(self) -> bool:
        """A zombie, whose parent has not asked for its exit state: it holds neither memory nor ports."""
        return self.state in ("Z", "X", "x")


def boot_id() -> str:
    """Names this boot of the machine; process numbers of another boot mean nothing. Empty when not readable."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def processes() -> dict[int, Process]:
    """Every process that can be seen now."""
    found = (read(int(entry)) for entry in os.listdir(PROC) if entry.isdigit())  # noqa: PTH208 - names only, and often
    return {process.pid: process for process in found if process is not None}


def read(pid: int) -> Process | None:
    """One process, or None when there is none. A dead main thread beside living ones counts as alive."""
    stat = _stat(PROC / str(pid) / "stat")
    if stat is None:
        return None
    name, fields = stat
    state = fields[0]
    if state in ("Z", "X") and _has_living_thread(pid):
        state = "S"
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]), state, name)


def environment(pid: int) -> dict[str, str] | None:
    """The environment that `pid` was started with; None when it may not be read, empty when it was overwritten."""
    try:
        raw = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    pairs = (item.partition(b"=") for item in raw.split(b"\0") if b"=" in item)
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def arguments(pid: int) -> list[str]:
    """Its command line, word by word; empty when there is none or it may not be read."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(word) for word in raw.split(b"\0") if word]


def command(pid: int) -> str:
    """What a person would recognise `pid` by: its command line, shortened, with what looks secret left out."""
    process = read(pid)
    text = " ".join(redacted(arguments(pid))) or (process.name if process else "?")
    return text if len(text) <= _MAX_COMMAND else text[: _MAX_COMMAND - 1] + "…"


def started_s(process: Process) -> float:
    """When it started, in seconds since the epoch; as far as the kernel's boot time is known (1 s)."""
    return _boot_time_s() + process.start_ticks / _TICKS_PER_S


def started_at(process: Process) -> str:
    """When it started, ISO 8601 in UTC."""
    return datetime.fromtimestamp(started_s(process), UTC).isoformat(timespec="milliseconds")


def resident_bytes(pid: int) -> int | None:
    """Its share of memory (PSS, which divides shared pages), or its resident size where PSS may not be read."""
    return _kib(PROC / str(pid) / "smaps_rollup", "Pss:") or _kib(PROC / str(pid) / "status", "VmRSS:")


def inside(pid: int, environ: Mapping[str, str]) -> bool:
    """Whether `pid` was started with all of `environ`."""
    seen = environment(pid)
    return seen is not None and all(seen.get(key) == value for key, value in environ.items())


def _stat(path: Path) -> tuple[str, list[str]] | None:
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return None
    # The name may itself hold spaces and parentheses: it ends at the last one.
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return (head.partition("(")[2], fields) if len(fields) > 19 else None


def _has_living_thread(pid: int) -> bool:
    try:
        threads = os.listdir(PROC / str(pid) / "task")  # noqa: PTH208 - names only
    except OSError:
        return False
    stats = (_stat(PROC / str(pid) / "task" / thread / "stat") for thread in threads)
    return any(stat[1][0] not in ("Z", "X") for stat in stats if stat is not None)


def _boot_time_s() -> float:
    for line in (PROC / "stat").read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return 0.0


def _kib(path: Path, key: str) -> int | None:
    try:
        lines = path.read_text(errors="replace").splitlines()  # a process may call itself by any bytes
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key)), None)
