"""One request to one engine, and everything that can go wrong with it mapped to `EngineFailure`."""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from multidict import CIMultiDict

from pitstop.core.config.engine import Engine
from pitstop.gateway.apis import Api
from pitstop.gateway.engine_connection import Broken, EngineConnection

# uvicorn, and with it vLLM, closes connections that were idle for 5 s; ours must be gone before.
_KEEPALIVE_S = 4.0
# What an engine may see of a client: nothing that names or authorizes it.
_PASSED_ON = ("accept", "user-agent", "traceparent", "tracestate", "anthropic-version", "anthropic-beta", "openai-beta")
_OF_ONE_CONNECTION = (
    "connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade content-length"
)
_OF_THE_ENGINE_ALONE = "server date set-cookie www-authenticate alt-svc x-request-id"
_KEPT_BACK = frozenset(f"{_OF_ONE_CONNECTION} {_OF_THE_ENGINE_ALONE}".split())


class EngineFailure(Exception):
    """The engine did not answer, or not with an answer. `status` is what a client is told when nobody else can."""

    def __init__(self, what: str, status: int = 502) -> None:
        super().__init__(what)
        self.what = what
        self.status = status


@dataclass(frozen=True)
class Address:
    """Where an engine listens, and what stands before `/chat/completions` there."""

    host: str
    port: int
    tls: bool
    authority: str
    base: str


@cache
def address_of(base_url: str) -> Address:
    """The parts of a base URL that the configuration has checked."""
    url = urlsplit(base_url)
    tls = url.scheme == "https"
    authority = url.netloc.rpartition("@")[2]
    return Address(url.hostname or "", url.port or (443 if tls else 80), tls, authority, url.path.rstrip("/"))


class Connections:
    """Open connections to engines; as many as there are requests."""

    def __init__(self) -> None:
        self._idle: defaultdict[Address, list[EngineConnection]] = defaultdict(list)

    async def take(self, address: Address, deadline_s: float) -> EngineConnection:
        """An idle connection, or a new one; EngineFailure when there is none within `deadline_s`."""
        loop = asyncio.get_running_loop()
        idle = self._idle[address]
        while idle:
            connection = idle.pop()
            if connection.reusable and loop.time() - connection.idle_since_s < _KEEPALIVE_S:
                return connection
            connection.close()
        try:
            async with asyncio.timeout(deadline_s):
                _transport, new = await loop.create_connection(
                    EngineConnection, address.host, address.port, ssl=_tls() if address.tls else None
                )
        except TimeoutError as error:
            raise EngineFailure("cannot be reached (no connection in time)") from error
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise EngineFailure(f"cannot be reached ({reason})") from error
        return new

    def give_back(self, address: Address, connection: EngineConnection) -> None:
        """Keep it for the next request when it can be used again, close it otherwise."""
        if connection.reusable:
            connection.used = True
            connection.idle_since_s = asyncio.get_running_loop().time()
            self._idle[address].append(connection)
        else:
            connection.close()

    def close(self) -> None:
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()


def post(engine: Engine, api: Api, query: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """The bytes of a request."""
    path = f"/{api.value}?{query}" if query else f"/{api.value}"
    return _request("POST", address_of(engine.base_url), path, {**headers, "content-length": str(len(body))}) + body


def headers_for(client: Mapping[str, str], engine_key: str | None, request_id: str) -> dict[str, str]:
    """The head of the request to the engine: an allow-list of the client's, and the engine's own key."""
    headers = {name: client[name] for name in _PASSED_ON if name in client}
    headers["content-type"] = "application/json"
    headers["accept-encoding"] = "identity"  # a compressed stream could not be watched
    headers["x-request-id"] = request_id
    if engine_key:
        headers["authorization"] = f"Bearer {engine_key}"
    return headers


def headers_back(engine: list[tuple[str, str]]) -> CIMultiDict[str]:
    """The head of the reply, without what belongs to one connection or to the engine alone."""
    return CIMultiDict((name, value) for name, value in engine if name not in _KEPT_BACK and value.isprintable())


async def open_reply(connections: Connections, address: Address, request: bytes, connect_s: float) -> EngineConnection:
    """Send; the connection with the reply's head. EngineFailure when there is none.

    A kept connection that the engine had closed meanwhile shows it by saying nothing at all; only then the request is
    sent once more. A request that brought an engine down must not be sent twice.
    """
    while True:
        connection = await connections.take(address, connect_s)
        try:
            connection.send(request)
            await connection.head()
        except Broken as error:
            connection.close()
            if not connection.used or connection.touched:
                raise EngineFailure(str(error)) from error
        except BaseException:
            connection.close()
            raise
        else:
            return connection


async def probe(connections: Connections, engine: Engine, engine_key: str | None, deadline_s: float) -> bool:
    """Whether something listens and says so in HTTP without a server error; a refused key is an answer."""
    address = address_of(engine.base_url)
    headers = {"authorization": f"Bearer {engine_key}"} if engine_key else {}
    try:
        async with asyncio.timeout(deadline_s):
            request = _request("GET", address, "/models", headers)
            reply = await open_reply(connections, address, request, deadline_s)
    except (EngineFailure, TimeoutError):
        return False
    reply.close()
    return reply.status < 500


def _request(method: str, address: Address, path: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {address.base}{path} HTTP/1.1", f"host: {address.authority}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()  # honours SSL_CERT_FILE and SSL_CERT_DIR
