"""What an engine's last boot wrote into its log about memory."""

from __future__ import annotations

from pitstop.core.home import Home
from pitstop.engines.logs import StartupFacts, parse_startup
from pitstop.launch.launcher import LaunchSpec

_MAX_BYTES = 16 * 2**20  # of the end of the log; a boot writes some hundred lines


def facts_of(spec: LaunchSpec | None, home: Home, *, changed: bool) -> StartupFacts:
    """Facts of the kept log; none for a launch value that is not the one which wrote it."""
    if spec is None or changed:
        return StartupFacts()
    path = home.logs / f"{spec.engine}.log"
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MAX_BYTES))
            return parse_startup(file.read().decode("utf-8", "replace").splitlines())
    except OSError:
        return StartupFacts()
