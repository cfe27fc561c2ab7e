"""What `[gateway]` says that cannot work: engines and routes that do not exist, circles, numbers out of range."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pitstop.core.config.gateway import Gateway, Route
from pitstop.core.config.nearest import nearest
from pitstop.core.config.schema import Config

_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}")  # it travels in headers, metrics and log lines
_LISTEN = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):([0-9]{1,5})")


def gateway_contradictions(config: Config) -> Iterator[str]:
    """Yield a sentence for everything in `[gateway]` that cannot work."""
    if config.gateway is None:
        return
    yield from _front(config.gateway)
    for name, route in config.gateway.route.items():
        yield from _names(name, route, config)
        yield from _numbers(f"gateway.route.{name}", route)
    yield from _circles(config.gateway.route)


def host_and_port(listen: str) -> tuple[str, int]:
    """`127.0.0.1:8080` or `[::1]:8080` in two; ValueError when it is neither."""
    match = _LISTEN.fullmatch(listen)
    if match is None or int(match.group(3)) > 65535:
        raise ValueError(f"{listen!r} is not an address with a port, such as 127.0.0.1:8080")
    return match.group(1) or match.group(2), int(match.group(3))


def fallback_chain(routes: dict[str, Route], alias: str) -> tuple[str, ...]:
    """The alias and its fallbacks in order; ends before a route would come again."""
    chain: list[str] = []
    while alias and alias in routes and alias not in chain:
        chain.append(alias)
        alias = routes[alias].fallback
    return tuple(chain)


def _front(gateway: Gateway) -> Iterator[str]:
    for key, listen in (("listen", gateway.listen), ("metrics_listen", gateway.metrics_listen or gateway.listen)):
        try:
            host_and_port(listen)
        except ValueError as error:
            yield f"`gateway.{key}`: {error}"
    if gateway.metrics_listen and gateway.metrics_listen == gateway.listen:
        yield "`gateway.metrics_listen`: must be another port than `gateway.listen`"
    if bool(gateway.tls_certificate) != bool(gateway.tls_key):
        yield "`gateway.tls_certificate` and `gateway.tls_key` go together; one of them is missing"
    for key in ("max_in_flight", "eject_after", "max_body", "max_header", "eject_for", "header_deadline"):
        if getattr(gateway, key) <= 0:
            yield f"`gateway.{key}`: must be more than nothing"
    if gateway.max_held < 0:
        yield "`gateway.max_held`: cannot be negative"


def _names(name: str, route: Route, config: Config) -> Iterator[str]:
    assert config.gateway is not None
    where, routes = f"gateway.route.{name}", config.gateway.route
    if not _ALIAS.fullmatch(name):
        yield f"`{where}`: a route's name may have letters, digits and . _ : / @ + - and begins with a letter or digit"
    if route.engine not in config.engine:
        yield f"`{where}.engine`: there is no engine {route.engine!r}{nearest(route.engine, config.engine)}"
    if route.fallback and route.fallback not in routes:
        yield f"`{where}.fallback`: there is no route {route.fallback!r}{nearest(route.fallback, routes)}"
    if route.when_held == "fallback" and not route.fallback:
        yield f"`{where}.when_held`: is `fallback`, but the route has none; add one, or say hold or refuse"


def _numbers(where: str, route: Route) -> Iterator[str]:
    if route.thinking_token_budget is not None and route.thinking_token_budget < 0:
        yield f"`{where}.thinking_token_budget`: cannot be negative; leave it out for no budget"
    for key in ("max_tokens", "max_tokens_limit", "max_in_flight"):
        value = getattr(route, key)
        if value is not None and value < 1:
            yield f"`{where}.{key}`: must be at least 1, not {value}"
    if route.max_tokens and route.max_tokens_limit and route.max_tokens > route.max_tokens_limit:
        yield f"`{where}.max_tokens`: the default {route.max_tokens} lies above the limit {route.max_tokens_limit}"
    for key in ("first_byte_deadline", "answer_deadline", "stall_deadline"):
        if getattr(route, key) <= 0:
            yield f"`{where}.{key}`: must be more than nothing"


def _circles(routes: dict[str, Route]) -> Iterator[str]:
    told: set[frozenset[str]] = set()
    for name in routes:
        chain = fallback_chain(routes, name)
        back_to = routes[chain[-1]].fallback
        if back_to in chain:
            circle = chain[chain.index(back_to) :]
            if frozenset(circle) not in told:
                told.add(frozenset(circle))
                path = " -> ".join((*circle, back_to))
                yield f"`gateway.route.{circle[0]}.fallback`: the fallbacks go in a circle: {path}"
