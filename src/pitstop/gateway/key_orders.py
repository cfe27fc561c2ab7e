"""From what a person writes on the command line to a stored key, and back to what a list shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from pitstop.core.config.nearest import nearest
from pitstop.core.config.schema import Config
from pitstop.core.errors import UsageError
from pitstop.core.units import parse_duration
from pitstop.decisions.rate import parse_rate
from pitstop.gateway.keys import Key

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def order(
    name: str,
    config: Config,
    *,
    routes: Sequence[str],
    rate: str,
    concurrency: int | None,
    expires: str,
    now_s: float,
) -> Callable[[str, str], Key]:
    """What makes the key once its id and digest are known; UsageError for a route, rate or time that cannot be."""
    _known_routes(config, routes)
    if rate:
        _checked_rate(rate)
    expires_at_s = _expiry(expires, now_s) if expires else None

    def make(identifier: str, digest: str) -> Key:
        return Key(
            id=identifier,
            name=name,
            digest=digest,
            created_at_s=now_s,
            routes=tuple(dict.fromkeys(routes)),
            rate=rate.replace(" ", ""),
            concurrency=concurrency,
            expires_at_s=expires_at_s,
        )

    return make


def shown(key: Key, now_s: float) -> dict[str, Any]:
    """A key as a list shows it."""
    expired = key.expires_at_s is not None and now_s >= key.expires_at_s
    return {
        "name": key.name,
        "id": key.id,
        "routes": list(key.routes),
        "rate": key.rate or None,
        "concurrency": key.concurrency,
        "created_at": _text(key.created_at_s),
        "expires_at": None if key.expires_at_s is None else _text(key.expires_at_s),
        "state": "expired" if expired else "valid",
    }


def _known_routes(config: Config, routes: Sequence[str]) -> None:
    known = config.gateway.route if config.gateway else {}
    for route in routes:
        if route not in known:
            raise UsageError(
                f"there is no route {route!r}{nearest(route, known)}",
                hint="A key is limited to routes of [gateway.route.NAME] in the configuration; name it with --config.",
            )


def _checked_rate(rate: str) -> None:
    try:
        parse_rate(rate)
    except ValueError as error:
        raise UsageError(f"--rate: {error}.") from error


def _expiry(text: str, now_s: float) -> float:
    try:
        at_s = (
            datetime.fromisoformat(text).astimezone().timestamp() if _DATE.match(text) else now_s + parse_duration(text)
        )
    except (ValueError, OverflowError) as error:
        raise UsageError(f"--expires: {text!r} is no time such as 30d, 12h, 2026-12-31.") from error
    if at_s <= now_s:
        raise UsageError(f"--expires: {text!r} has passed already.")
    return at_s


def _text(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
