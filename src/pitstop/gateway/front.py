"""What all exchanges share: the configuration of now, keys, doors, the health of engines, and what is counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from pitstop.core.config.engine import Engine
from pitstop.core.config.gateway import Gateway, Route
from pitstop.core.config.schema import Config
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.decisions.ejection import (
    EjectionPolicy,
    Health,
    after_abandoned,
    after_failure,
    after_send,
    after_success,
    is_ejected,
)
from pitstop.decisions.rate import Bucket
from pitstop.decisions.routing import Decision, Station, WhenHeld, choose
from pitstop.gateway.account import Account
from pitstop.gateway.door import Doors
from pitstop.gateway.keys import KeyRing
from pitstop.gateway.upstream import Connections


@dataclass(frozen=True)
class Rules:
    """The configuration as exchanges use it; an exchange keeps the rules that it began with."""

    gateway: Gateway
    engines: Mapping[str, Engine]
    stations: Mapping[str, Station]
    shed_below_bytes: int
    engine_keys: Mapping[str, str] = field(repr=False)  # by engine, read from the environment; secrets

    @classmethod
    def of(cls, config: Config, environ: Mapping[str, str], memory_total_bytes: int | None) -> Rules:
        gateway = config.gateway or Gateway()
        keys = {name: _engine_key(engine, environ) for name, engine in config.engine.items()}
        stations = {name: _station(route) for name, route in gateway.route.items()}
        # The guard's floor is made for a big box; on a small one it would refuse everything.
        usual = min(config.host.min_available, (memory_total_bytes or 0) // 10)
        floor = usual if gateway.shed_below is None else gateway.shed_below
        return cls(gateway, config.engine, stations, floor, {name: key for name, key in keys.items() if key})

    def route(self, alias: str) -> Route:
        return self.gateway.route[alias]

    @property
    def ejection(self) -> EjectionPolicy:
        return EjectionPolicy(self.gateway.eject_after, self.gateway.eject_for)


@dataclass
class Front:
    """The living state of one gateway. Everything runs on one event loop, so nothing here needs a lock."""

    home: Home
    rules: Rules
    keys: KeyRing
    doors: Doors
    connections: Connections
    record: Callable[[Account], None]
    clock: Callable[[], float]  # seconds since the epoch
    health: dict[str, Health] = field(default_factory=dict)
    usage_refused: set[str] = field(default_factory=set)  # engines that do not know `stream_options`
    buckets: dict[str, Bucket] = field(default_factory=dict)  # by key id
    in_flight: Counter[str] = field(default_factory=Counter)  # by key id
    on_route: Counter[str] = field(default_factory=Counter)
    total: int = 0
    short_of_memory: bool = False
    stopping: bool = False

    def choose(self, rules: Rules, alias: str, tried: Set[str], *, hold_spent: bool) -> Decision:
        """Who is to answer now."""
        ejected = {engine for engine, health in self.health.items() if is_ejected(health)}
        return choose(alias, rules.stations, held=self.doors.held, ejected=ejected, tried=tried, hold_spent=hold_spent)

    def sent(self, engine: str) -> None:
        self.health[engine] = after_send(self.health.get(engine, _WELL))

    def succeeded(self, engine: str) -> None:
        self.health[engine] = after_success(self.health.get(engine, _WELL))

    def failed(self, engine: str) -> None:
        now_s = asyncio.get_running_loop().time()
        self.health[engine] = after_failure(self.health.get(engine, _WELL), self.rules.ejection, now_s)

    def abandoned(self, engine: str) -> None:
        self.health[engine] = after_abandoned(self.health.get(engine, _WELL))


_WELL = Health()


def _engine_key(engine: Engine, environ: Mapping[str, str]) -> str:
    key = environ.get(engine.api_key_env, "").strip()
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"the key in ${engine.api_key_env} has characters that no HTTP header can carry.")
    return key


def _station(route: Route) -> Station:
    when_held: WhenHeld = route.when_held or ("fallback" if route.fallback else "hold")
    return Station(route.engine, route.fallback, when_held)
