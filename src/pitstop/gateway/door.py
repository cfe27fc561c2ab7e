"""The door in front of each engine: open, or held while somebody swaps the engine, and who is inside.

An engine's door is held by a hold file (see `drain`) or by an active lease on that engine, under the same rule by which
the watchdog stands down.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

from pitstop.core.home import Home
from pitstop.decisions.lease import Phase, Standing, watchdog_stands_down
from pitstop.gateway.holds import held_by_file
from pitstop.services.lease import lease_standing


class Doors:
    """Which engines are held, how many requests are inside each, and a bell for those who wait."""

    def __init__(self, home: Home, steady: Callable[[], float]) -> None:
        """`steady` is the clock by which leases run out."""
        self._home, self._steady = home, steady
        self.held: frozenset[str] = frozenset()
        self.inside: Counter[str] = Counter()
        self.waiting = 0
        self._bell = asyncio.Event()

    def look(self, engines: Iterable[str]) -> bool:
        """Read holds and lease again, and wake who waits if something changed; True when it did."""
        held = frozenset(held_by_file(self._home) | _held_by_lease(self._home, engines, self._steady()))
        if held == self.held:
            return False
        self.held = held
        self.ring()
        return True

    def ring(self) -> None:
        """Wake everybody who waits, to look for himself."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def changed(self) -> None:
        """Wait until a door opens or closes."""
        await self._bell.wait()

    def enter(self, engine: str) -> None:
        self.inside[engine] += 1

    def leave(self, engine: str) -> None:
        self.inside[engine] -= 1


def _held_by_lease(home: Home, engines: Iterable[str], now_s: float) -> set[str]:
    lease, standing = lease_standing(home, now_s)
    if lease is None or lease.phase is not Phase.ACTIVE or standing is Standing.FREE:
        return set()
    return {engine for engine in engines if watchdog_stands_down(lease, standing, engine)}
