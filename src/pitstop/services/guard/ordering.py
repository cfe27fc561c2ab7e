"""What to tell a guard: from configuration and state folder to an order."""

from __future__ import annotations

import sys
from pathlib import Path

from pitstop.core.home import Home
from pitstop.decisions.guard import GuardPolicy
from pitstop.launch.mark import ENGINE, HOME
from pitstop.services.guard.order import GuardOrder


def guard_order(
    engine: str,
    policy: GuardPolicy,
    home: Home,
    *,
    stamp: str,
    config_file: Path | None = None,
    incident: bool = True,
    csv: str = "",
    pid: int | None = None,
    container: str = "",
    binary: str = "docker",
    for_s: float | None = None,
    procfs: str = "/proc",
    kill_when_low: bool = False,
) -> GuardOrder:
    """An order whose files lie under the state folder; `stamp` tells this guard's evidence from the next one's.

    With `incident` the guard has a process of its own file an incident and notify when it has killed; `config_file` is
    where that process reads whom to notify.
    """
    return GuardOrder(
        engine=engine,
        policy=policy,
        csv=csv or str(home.logs / f"guard-{_plain(engine)}.csv"),
        evidence=str(home.evidence / f"guard-{_plain(engine)}-{stamp}"),
        mark=f"{ENGINE}={engine}\0{HOME}={home.root.resolve()}",
        after=_after(home, config_file) if incident else (),
        pid=pid,
        container=container,
        binary=binary,
        for_s=for_s,
        procfs=procfs,
        kill_when_low=kill_when_low,
    )


def _after(home: Home, config_file: Path | None) -> tuple[str, ...]:
    config = str(config_file.resolve()) if config_file else ""
    return (sys.executable, "-m", "pitstop.cli.guard_aftermath", str(home.root.resolve()), config)


def _plain(name: str) -> str:
    """A name that is safe in a file name."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)[:80] or "engine"
