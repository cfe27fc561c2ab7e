"""What boots of this very box took, learnt from the guard that watched them: kept per engine and launch value."""

from __future__ import annotations

import contextlib
from pathlib import Path
from statistics import median

import msgspec

from pitstop.core.durable import write_durably
from pitstop.core.home import Home
from pitstop.services.guard.order import GuardReport

_KEPT = 20


class Boot(msgspec.Struct, frozen=True):
    """One boot, as MemAvailable saw it, in bytes: what it took at its worst, and what it held in the end."""

    at: str
    fingerprint: str
    start_bytes: int
    steady_bytes: int


def learn(home: Home, engine: str, fingerprint: str, report: GuardReport) -> Boot | None:
    """Remember a boot that the guard saw from its beginning to its end; None when it says too little or was killed."""
    first, lowest, last = report.first_available_bytes, report.lowest_available_bytes, report.last_available_bytes
    if report.tripped or first is None or lowest is None or last is None or last >= first:
        return None
    boot = Boot(report.finished_at, fingerprint, first - lowest, first - last)
    boots = [*_read(_path(home, engine)), boot][-_KEPT:]
    with contextlib.suppress(OSError):  # a full disk costs the next plan a number, not this boot
        _path(home, engine).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_durably(_path(home, engine), msgspec.json.encode(boots))
    return boot


def boots_of(home: Home, engine: str, fingerprint: str) -> list[Boot]:
    """The boots of this launch value; those of others took what others take."""
    return [boot for boot in _read(_path(home, engine)) if boot.fingerprint == fingerprint]


def summary(boots: list[Boot]) -> tuple[int, int]:
    """Start and steady bytes to plan with: the worst start, the median of what it held."""
    return max(boot.start_bytes for boot in boots), round(median(boot.steady_bytes for boot in boots))


def _read(path: Path) -> list[Boot]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Boot])
    except (OSError, msgspec.MsgspecError):
        return []


def _path(home: Home, engine: str) -> Path:
    return home.root / "footprints" / f"{engine}.json"
