"""Who answers a request: the route's own engine, a fallback, nobody yet, or nobody.

Pure: what is held and what is ejected are arguments. The gateway asks again after every failure and every time a door
opens, so that nothing is decided on an old view.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal

WhenHeld = Literal["fallback", "hold", "refuse"]


@dataclass(frozen=True)
class Station:
    """One route as far as choosing goes."""

    engine: str
    fallback: str = ""
    when_held: WhenHeld = "hold"


@dataclass(frozen=True)
class Send:
    route: str


@dataclass(frozen=True)
class Hold:
    """Wait until the door of this route's engine opens."""

    route: str


@dataclass(frozen=True)
class Refuse:
    reason: Literal["held", "failed"]


Decision = Send | Hold | Refuse


def choose(
    alias: str,
    stations: Mapping[str, Station],
    *,
    held: Set[str],
    ejected: Set[str],
    tried: Set[str] = frozenset(),
    hold_spent: bool = False,
) -> Decision:
    """Who is to answer `alias` now.

    `held` and `ejected` are engines, `tried` routes that have failed this request already. The first usable route of
    the fallback chain answers. A held door makes the request wait only where the route that was asked for says so and
    `hold_spent` is false. An ejected engine is still tried when nobody else is left: it may have come back, and a
    refusal would be certain.
    """
    chain = _chain(alias, stations)
    asked = stations[alias]
    if asked.engine in held and alias not in tried and not hold_spent:
        if asked.when_held == "hold":
            return Hold(alias)
        if asked.when_held == "refuse":
            return Refuse("held")
    open_doors = [name for name in chain if name not in tried and stations[name].engine not in held]
    for name in open_doors:
        if stations[name].engine not in ejected:
            return Send(name)
    if open_doors:
        return Send(open_doors[0])
    return Refuse("failed" if tried else "held")


def _chain(alias: str, stations: Mapping[str, Station]) -> list[str]:
    chain: list[str] = []
    while alias in stations and alias not in chain:
        chain.append(alias)
        alias = stations[alias].fallback
    return chain
