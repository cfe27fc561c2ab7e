"""Who gets in: key, rate, concurrency, overload. In this order, and all before a byte of the body is read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from aiohttp import web

from pitstop.decisions.rate import full, parse_rate, take
from pitstop.gateway import replies
from pitstop.gateway.front import Front, Rules
from pitstop.gateway.keys import Key, presented_keys

_SHED_RETRY_S = 2.0


def admit(front: Front, rules: Rules, request: web.BaseRequest) -> Key:
    """The key that a request shows; Refusal 401 or 429."""
    key = _holder(front, request)
    _within_rate(front, key)
    if key.concurrency is not None and front.in_flight[key.id] >= key.concurrency:
        raise replies.too_many(f"This key may have {key.concurrency} request(s) at once.", 1.0)
    if front.total >= rules.gateway.max_in_flight:
        raise replies.too_many("The server is busy.", _SHED_RETRY_S)
    if front.short_of_memory:
        raise replies.too_many("The server is short of memory.", _SHED_RETRY_S * 5)
    return key


def who(front: Front, request: web.BaseRequest) -> Key:
    """The key alone, for what costs nothing to answer."""
    return _holder(front, request)


@contextlib.contextmanager
def counted(front: Front, alias: str, most_on_route: int | None) -> Iterator[None]:
    """Count a request for as long as the block runs; Refusal 429 when the route is full."""
    if most_on_route is not None and front.on_route[alias] >= most_on_route:
        raise replies.too_many(f"The model `{alias}` is busy.", _SHED_RETRY_S)
    front.on_route[alias] += 1
    try:
        yield
    finally:
        front.on_route[alias] -= 1


@contextlib.contextmanager
def inside(front: Front, key: Key) -> Iterator[None]:
    """Count a request from its key to its last byte, its body included: bodies cost memory too."""
    front.total += 1
    front.in_flight[key.id] += 1
    try:
        yield
    finally:
        front.total -= 1
        front.in_flight[key.id] -= 1


def _holder(front: Front, request: web.BaseRequest) -> Key:
    headers = request.headers
    shown = presented_keys(headers.getall("authorization", []), headers.getall("x-api-key", []))
    now_s = front.clock()
    for presented in shown:
        key = front.keys.holder(presented, now_s)
        if key is not None:
            return key
    raise replies.unauthorized()


def _within_rate(front: Front, key: Key) -> None:
    if not key.rate:
        return
    rate, now_s = parse_rate(key.rate), front.clock()
    bucket = front.buckets.get(key.id) or full(rate, now_s)
    front.buckets[key.id], wait_s = take(bucket, rate, now_s)
    if wait_s is not None:
        raise replies.too_many(f"This key may send {key.rate}.", wait_s)
