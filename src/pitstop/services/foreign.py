"""Requests of others that were served while we measured, read from every engine's counters before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pitstop.engines.adapter import Counters
from pitstop.services.site import Site


@dataclass
class ForeignCount:
    """Counters of some engines at the start of a run."""

    before: list[tuple[Site, Counters | None]]

    @classmethod
    async def begin(cls, sites: Sequence[Site]) -> ForeignCount:
        return cls([(site, await site.adapter.counters(site.endpoint)) for site in sites])

    async def so_far(self, own_requests: int, measured: Site) -> int | None:
        """Requests beyond our own, over all engines; None when one of them does not count requests.

        Never negative: a server may count later than it answers.
        """
        total = 0
        for site, before in self.before:
            after = await site.adapter.counters(site.endpoint)
            served = _served(before, after)
            if served is None:
                return None
            total += max(0, served - (own_requests if site is measured else 0))
        return total


def _served(before: Counters | None, after: Counters | None) -> int | None:
    if before is None or after is None or before.requests_finished is None or after.requests_finished is None:
        return None
    return max(0, after.requests_finished - before.requests_finished)
