"""The gateway's door to the engine of a trial: shut before production is taken down, open once it is back.

Everything is the same where no gateway runs. Calls take milliseconds, and two seconds when a gateway is wedged.
"""

from __future__ import annotations

import contextlib
from typing import Protocol

from pitstop.core.errors import PitstopError
from pitstop.core.home import Home
from pitstop.gateway import drain


class Door(Protocol):
    """What a trial asks of the gateway; `inside` and `shut` return how many requests are inside."""

    def inside(self, engine: str) -> int: ...

    def shut(self, engine: str) -> int: ...

    def open(self, engine: str) -> None: ...


class GatewayDoor:
    """The door of every gateway that runs on this state folder. A gateway that does not answer may have any number."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def inside(self, engine: str) -> int:
        """Unreachable when a gateway is there and does not say."""
        return drain.in_flight(self._home, engine)

    def shut(self, engine: str) -> int:
        """UsageError when it cannot be written down, Unreachable as with `inside`; it is shut then too."""
        return drain.drain(self._home, engine)

    def open(self, engine: str) -> None:
        """Never an error: the hold ends with this process in any case."""
        with contextlib.suppress(PitstopError, OSError):
            drain.release(self._home, engine)
