"""The box around a measurement: conditions, and what others did on its engines meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pitstop.client.refusal import FINAL, Failure
from pitstop.core.documents import Notice, RequestRecord
from pitstop.core.errors import PitstopError
from pitstop.engines.adapter import Counters
from pitstop.engines.conditions import Conditions, snapshot
from pitstop.engines.contamination import changes, contaminations
from pitstop.engines.since import ForeignTraffic, OwnTraffic, foreign_traffic
from pitstop.services.site import Site

# How the error of a request begins that no engine has seen, or that it refused before it computed anything.
_NEVER_RAN = tuple(f"{failure}:" for failure in (*FINAL, Failure.UNREACHABLE, Failure.BUSY))


@dataclass(frozen=True)
class Look:
    """One look at the box and at every engine on it."""

    conditions: Conditions
    counters: dict[str, Counters | None]


@dataclass(frozen=True)
class Surroundings:
    """What lies between two looks."""

    before: Look
    after: Look
    foreign: dict[str, ForeignTraffic]

    def notices(self) -> tuple[Notice, ...]:
        """Why the figures are not those of a clean box; empty when nothing is known against them."""
        return contaminations(self.before.conditions, self.after.conditions, self.foreign)

    def record(self, earlier: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The `conditions` of a run document; `earlier` are those of the part before it was interrupted."""
        foreign, before = self._foreign_requests(), (earlier or {}).get("foreign_requests", 0)
        if earlier:
            foreign = None if foreign is None or before is None else foreign + before
        return {
            "before": msgspec.to_builtins(self.before.conditions),
            "after": msgspec.to_builtins(self.after.conditions),
            "changes": msgspec.to_builtins(changes(self.before.conditions, self.after.conditions)),
            "foreign_requests": foreign,
            "foreign": {name: msgspec.to_builtins(traffic) for name, traffic in self.foreign.items()},
            **({"before_resume": dict(earlier)} if earlier else {}),
        }

    def _foreign_requests(self) -> int | None:
        """Over all engines. A server that counts no requests, but no token beyond ours either, served nobody else."""
        counts = [_requests(traffic) for traffic in self.foreign.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None


async def look(sites: Sequence[Site]) -> Look:
    """Read the box and the counters of these engines."""
    conditions = await asyncio.to_thread(snapshot)
    return Look(conditions, {site.name: await _counters(site) for site in sites})


def between(before: Look, after: Look, own: dict[str, OwnTraffic]) -> Surroundings:
    """What others did between two looks; `own` is what we sent to each engine."""
    foreign = {
        name: foreign_traffic(before.counters.get(name), counters, own.get(name, OwnTraffic(0, 0, 0)))
        for name, counters in after.counters.items()
    }
    return Surroundings(before, after, foreign)


def traffic_of(requests: Sequence[RequestRecord]) -> OwnTraffic:
    """Our own requests as the server should have counted them.

    Tokens are unknown as soon as one reply did not say, or broke off: what the server generated for it meanwhile is
    ours all the same.
    """
    ran = [one for one in requests if one.ok or not one.error.startswith(_NEVER_RAN)]
    return OwnTraffic(
        requests=len(ran),
        prompt_tokens=_sum([one.prompt_tokens for one in ran]),
        generation_tokens=_sum([one.completion_tokens if one.ok else None for one in ran]),
        perhaps=sum(not one.ok for one in ran),
    )


def _sum(counts: list[int | None]) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)


def _requests(traffic: ForeignTraffic) -> int | None:
    if traffic.requests is not None:
        return traffic.requests
    return 0 if traffic.generation_tokens == 0 else None


async def _counters(site: Site) -> Counters | None:
    try:
        return await site.adapter.counters(site.endpoint)
    except PitstopError:
        return None
