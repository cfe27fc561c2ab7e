"""One request to one engine, and everything that can go wrong with it mapped to `EngineFailure`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from pitstop.core.config.engine import Engine
from pitstop.gateway.apis import Api

# uvicorn, and with it vLLM, closes connections that were idle for 5 s; ours must be gone before.
_KEEPALIVE_S = 4.0
# What an engine may see of a client: nothing that names or authorizes it.
_PASSED_ON = ("accept", "user-agent", "traceparent", "tracestate", "anthropic-version", "anthropic-beta", "openai-beta")
_OF_ONE_CONNECTION = (
    "connection keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade content-length"
)
_OF_THE_ENGINE_ALONE = "server date set-cookie www-authenticate alt-svc x-request-id"
_KEPT_BACK = frozenset(f"{_OF_ONE_CONNECTION} {_OF_THE_ENGINE_ALONE}".split())
# How quickly a kept connection shows that the engine had closed it. Later it is the request that failed, and a request
# that brings an engine down must not be sent twice.
_STALE_WITHIN_S = 1.0


class EngineFailure(Exception):
    """The engine did not answer, or not with an answer. `status` is what a client is told when nobody else can."""

    def __init__(self, what: str, status: int = 502) -> None:
        super().__init__(what)
        self.what = what
        self.status = status


def session(connect_deadline_s: float) -> aiohttp.ClientSession:
    """Connections to all engines. No overall timeout: the exchange watches the time itself."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_deadline_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    )


def url_of(engine: Engine, api: Api, query: str) -> URL:
    base = f"{engine.base_url.rstrip('/')}/{api.value}"
    return URL(f"{base}?{query}" if query else base, encoded=True)


def headers_for(client: Mapping[str, str], engine_key: str | None, request_id: str) -> CIMultiDict[str]:
    """The head of the request to the engine: an allow-list of the client's, and the engine's own key."""
    headers = CIMultiDict({name: client[name] for name in _PASSED_ON if name in client})
    headers["content-type"] = "application/json"
    headers["accept-encoding"] = "identity"  # a compressed stream could not be watched
    headers["x-request-id"] = request_id
    if engine_key:
        headers["authorization"] = f"Bearer {engine_key}"
    return headers


def headers_back(engine: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The head of the reply, without what belongs to one connection or to the engine alone."""
    return CIMultiDict((name, value) for name, value in engine.items() if name.lower() not in _KEPT_BACK)


async def post(http: aiohttp.ClientSession, url: URL, body: bytes, headers: CIMultiDict[str]) -> aiohttp.ClientResponse:
    """Send; the reply's head. EngineFailure when there is none."""
    begun_s = time.monotonic()
    try:
        return await _post(http, url, body, headers)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        if isinstance(error, aiohttp.ClientConnectorError) or time.monotonic() - begun_s > _STALE_WITHIN_S:
            raise _failure(error) from error
    # Perhaps a kept connection that the engine was just closing: once more, on a new one.
    try:
        return await _post(http, url, body, headers)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        raise _failure(error) from error


async def _post(
    http: aiohttp.ClientSession, url: URL, body: bytes, headers: CIMultiDict[str]
) -> aiohttp.ClientResponse:
    try:
        return await http.post(url, data=body, headers=headers, allow_redirects=False)
    except aiohttp.ServerTimeoutError as error:
        raise EngineFailure("cannot be reached (no connection in time)") from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
        raise
    except (aiohttp.ClientError, ValueError) as error:
        raise EngineFailure(f"answered with something that is no HTTP ({type(error).__name__})") from error


async def probe(http: aiohttp.ClientSession, engine: Engine, engine_key: str | None, deadline_s: float) -> bool:
    """Whether something listens and says so in HTTP without a server error; a refused key is an answer."""
    headers = {"authorization": f"Bearer {engine_key}"} if engine_key else {}
    url = URL(f"{engine.base_url.rstrip('/')}/models", encoded=True)
    try:
        async with asyncio.timeout(deadline_s), http.get(url, headers=headers, allow_redirects=False) as reply:
            return reply.status < 500
    except (aiohttp.ClientError, OSError, ValueError, TimeoutError):
        return False


def _failure(error: Exception) -> EngineFailure:
    if isinstance(error, aiohttp.ClientConnectorError):
        return EngineFailure(f"cannot be reached ({error.os_error.strerror or type(error.os_error).__name__})")
    return EngineFailure("closed the connection without an answer")
