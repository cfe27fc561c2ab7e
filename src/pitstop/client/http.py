"""Small bounded requests for engines and probes: a value, or a typed lack of one.

Nothing that a server does raises; UsageError when the URL or the key cannot be sent at all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec

from pitstop.client.endpoint import Endpoint
from pitstop.client.exchange import Exchange, Fault
from pitstop.client.transport import exchange

MAX_BYTES = 16 * 1024 * 1024  # vLLM's metrics text with every histogram is below 1 MB
Value = TypeVar("Value")


class Lack(StrEnum):
    """Why there is no value."""

    UNREACHABLE = "unreachable"  # nothing listens there, the name is unknown, TLS fails
    TIMEOUT = "timeout"  # connected or not, no whole reply in time
    BROKEN = "broken"  # reset, truncated, no HTTP, too long, encoded
    REFUSED = "refused"  # 401 or 403
    NOT_FOUND = "not-found"  # 404, 405 or 501: this server does not have it
    STATUS = "status"  # any other status that is not 2xx
    NOT_JSON = "not-json"


@dataclass(frozen=True)
class NoAnswer:
    """`detail` is a sentence without secrets; `body` is what the server said, for whoever knows its dialect."""

    kind: Lack
    detail: str
    status: int | None = None
    body: bytes = b""


@dataclass(frozen=True)
class Answer(Generic[Value]):
    value: Value
    status: int
    elapsed_s: float  # from the request written to the last byte


async def get_json(
    endpoint: Endpoint, path: str, *, deadline_s: float = 5.0, root: bool = False
) -> Answer[Any] | NoAnswer:
    """GET and parse. `path` is appended to the base URL (`/models`), with `root` to the server (`/version`)."""
    return _as_json(await _get(endpoint, path, deadline_s, root=root))


async def get_text(
    endpoint: Endpoint, path: str, *, deadline_s: float = 5.0, root: bool = False
) -> Answer[str] | NoAnswer:
    """GET as text; bytes that are no UTF-8 become U+FFFD."""
    return _as_text(await _get(endpoint, path, deadline_s, root=root))


async def post_json(
    endpoint: Endpoint, path: str, payload: Any, *, deadline_s: float = 5.0, root: bool = False
) -> Answer[Any] | NoAnswer:
    """POST a JSON value and parse the reply; what a watchdog or a capability check sends."""
    raw = await exchange(
        endpoint, path, msgspec.json.encode(payload), deadline_s=deadline_s, max_body_bytes=MAX_BYTES, root=root
    )
    return _as_json(_without_secret(raw, endpoint))


def parse_json(text: bytes | str) -> Any:
    """JSON as servers write it: strict first, then with the liberties of Python's own writer (NaN, lone surrogates).

    ValueError when it is none, whatever is wrong with it, nesting included.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise ValueError(f"no JSON: {bad}") from None


async def _get(endpoint: Endpoint, path: str, deadline_s: float, *, root: bool) -> Exchange:
    raw = await exchange(endpoint, path, deadline_s=deadline_s, max_body_bytes=MAX_BYTES, root=root)
    return _without_secret(raw, endpoint)


def _without_secret(raw: Exchange, endpoint: Endpoint) -> Exchange:
    """A failed exchange may be shown to a person, so a key that the server repeats is blotted out of it."""
    if not endpoint.api_key or raw.status in range(200, 300):
        return raw
    return replace(raw, body=raw.body.replace(endpoint.api_key.encode(), b"***"), times=(), ends=())


def _as_text(raw: Exchange) -> Answer[str] | NoAnswer:
    lack = _lack(raw)
    if lack is not None:
        return lack
    return _answer(raw, raw.body.decode("utf-8", "replace"))


def _as_json(raw: Exchange) -> Answer[Any] | NoAnswer:
    lack = _lack(raw)
    if lack is not None:
        return lack
    try:
        return _answer(raw, parse_json(raw.body))
    except ValueError:
        return NoAnswer(Lack.NOT_JSON, f"{raw.url} answered {raw.body[:60]!r}, which is no JSON", raw.status, raw.body)


def _answer(raw: Exchange, value: Value) -> Answer[Value]:
    return Answer(value, raw.status or 0, (raw.finished_at or 0.0) - (raw.sent_at or 0.0))


def _lack(raw: Exchange) -> NoAnswer | None:
    if raw.fault is not None:
        return NoAnswer(_KINDS.get(raw.fault, Lack.BROKEN), f"{raw.url}: {raw.reason}", raw.status, raw.body)
    status = raw.status or 0
    if 200 <= status < 300:
        return None
    return NoAnswer(_STATUSES.get(status, Lack.STATUS), f"{raw.url} answered {status}{_whereto(raw)}", status, raw.body)


def _whereto(raw: Exchange) -> str:
    location = raw.header("location")
    return (
        f" (a redirect to {location[:200]!r}, which is not followed)"
        if location and raw.status in range(300, 400)
        else ""
    )


_KINDS = {
    Fault.NAME: Lack.UNREACHABLE,
    Fault.CONNECT: Lack.UNREACHABLE,
    Fault.TLS: Lack.UNREACHABLE,
    Fault.CONNECT_TIMEOUT: Lack.TIMEOUT,
    Fault.DEADLINE: Lack.TIMEOUT,
}
_STATUSES = {401: Lack.REFUSED, 403: Lack.REFUSED, 404: Lack.NOT_FOUND, 405: Lack.NOT_FOUND, 501: Lack.NOT_FOUND}
