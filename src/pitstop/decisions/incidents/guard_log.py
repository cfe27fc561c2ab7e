"""What a memory guard wrote: our own CSV, the second report's watchdog, or another that prints `avail=` lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pitstop.decisions.incidents.lines import Until, read_line

_KILLS = re.compile(
    r"\bdocker kill\b|\bkill(?:ed|ing)?\b(?!-)|\bSIGKILL\b|\btripped\b|\bstopp(?:ed|ing) (?:the )?(?:container|engine)",
    re.IGNORECASE,
)
_NO_KILL = re.compile(
    r"\b(?:nothing (?:to kill|was killed)|spared|would (?:have )?kill|no kill|dry.?run|not kill|without kill|kill_?when"
    r"|kill(?:s|ing)? (?:when|if|below|under|at))\b",
    re.IGNORECASE,
)
_AVAILABLE = re.compile(
    r"(?:MemAvailable|\bavail(?:able)?)\s*[=:]\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>kB|KiB|MiB|GiB|MB|GB)?",
    re.IGNORECASE,
)
_MIB = {"kb": 1 / 1024, "kib": 1 / 1024, "mib": 1.0, "gib": 1024.0, "mb": 1e6 / 2**20, "gb": 1e9 / 2**20}
_HEADER = "time,mem_available_mib"


@dataclass(frozen=True)
class GuardLog:
    """The kill, where there was one, and the lowest reading."""

    kill: str = ""  # the line
    kill_at: str | None = None
    kill_s: float | None = None
    lowest_mib: float | None = None
    lowest_line: str = ""
    lowest_s: float | None = None
    rows: int = 0


def read_guard_log(lines: Iterable[bytes], until: Until | None = None) -> GuardLog:
    """Read a guard's log; never raises on any content."""
    lines = list(lines)
    if (report := _report(lines)) is not None:
        return report
    kill, kill_at, kill_s, rows = "", None, None, 0
    lowest: tuple[float, str, float | None] | None = None
    columns: list[str] = []
    for raw in lines:
        text = raw.decode("utf-8", "replace").strip()[:2000]
        if text.startswith(_HEADER):
            columns = text.split(",")
            continue
        available, event, stamp = _row(text, columns)
        if available is None and not event:
            continue
        rows += 1
        moment = read_line(f"{stamp} -".encode(), until) if stamp else read_line(text.encode(), until)
        if available is not None and (lowest is None or available < lowest[0]):
            lowest = (available, text, moment.epoch_s)
        if not kill and _KILLS.search(event) and not _NO_KILL.search(event):
            kill, kill_at, kill_s = text, moment.at, moment.epoch_s
    lowest_mib, lowest_line, lowest_s = lowest or (None, "", None)
    return GuardLog(kill, kill_at, kill_s, lowest_mib, lowest_line, lowest_s, rows)


def _report(lines: list[bytes]) -> GuardLog | None:
    """Our guard's own account of how it went, as `pitstop guard --json` prints it."""
    if not lines or not lines[0].lstrip().startswith(b"{"):
        return None
    try:
        found = json.loads(b"".join(lines))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("schema") != "pitstop.guard":
        return None
    lowest = found.get("lowest_available_bytes")
    at = found.get("finished_at") if isinstance(found.get("finished_at"), str) else None
    moment = read_line(f"{at} -".encode()) if at else read_line(b"")
    tripped = found.get("verdict") == "tripped"
    return GuardLog(
        kill=f"{at or ''} KILLED {found.get('engine')}: {found.get('reason')}".strip() if tripped else "",
        kill_at=moment.at if tripped else None,
        kill_s=moment.epoch_s if tripped else None,
        lowest_mib=lowest / 2**20 if isinstance(lowest, int | float) else None,
        lowest_line=f"lowest MemAvailable {lowest} bytes at {found.get('lowest_at')}" if lowest is not None else "",
        rows=1,
    )


def _row(text: str, columns: list[str]) -> tuple[float | None, str, str]:
    """Available MiB, what was done, and the time of one row."""
    cells = text.split(",")
    if columns and len(cells) >= len(columns):
        named = dict(zip(columns, [*cells[: len(columns) - 1], ",".join(cells[len(columns) - 1 :])], strict=False))
        return _number(named.get("mem_available_mib", "")), named.get("event", ""), named.get("time", "")
    match = _AVAILABLE.search(text)
    if match is None:
        return None, text if _KILLS.search(text) else "", ""
    return float(match["number"]) * _MIB[(match["unit"] or "MiB").lower()], text, ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
