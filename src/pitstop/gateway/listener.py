"""The listening side: aiohttp's server with our limits, our words for bad HTTP, no tracebacks for strangers' bytes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from pitstop.core.config.gateway import Gateway
from pitstop.gateway import replies

log = logging.getLogger("pitstop.gateway.http")

# Seconds without a sign of life, seconds between questions, questions; milliseconds until sent data must be confirmed.
_DEAD_PEER = {
    socket.TCP_KEEPIDLE: 30,
    socket.TCP_KEEPINTVL: 10,
    socket.TCP_KEEPCNT: 3,
    socket.TCP_USER_TIMEOUT: 60_000,
}
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class _Connection(RequestHandler):
    """One client connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notice within a minute when the client's machine has gone without a word."""
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            for option, value in _DEAD_PEER.items():
                peer.setsockopt(socket.IPPROTO_TCP, option, value)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's own words quote the bytes, which may be content
    ) -> web.StreamResponse:
        """Bytes that are no HTTP: one line in the log and a plain reply."""
        log.info("a request that is no HTTP from %s: %s", request.remote, type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("a reply had begun")
        refusal = replies.bad_request("The request is not valid HTTP.")
        reply = web.Response(
            status=status,
            body=replies.body(None, refusal),
            content_type="application/json",
            headers={"server": "pitstop"},
        )
        reply.force_close()
        return reply

    def log_exception(self, *args: Any, **kw: Any) -> None:
        error = kw.get("exc_info")
        log.warning("a connection ended early: %s", type(error).__name__ if error else args)


class Listener(web.Server):
    """Makes a connection for every client that comes. A client that leaves cancels its handler at once."""

    def __init__(self, handler: Handler, gateway: Gateway) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._limits: dict[str, Any] = {
            "max_line_size": gateway.max_header,
            "max_field_size": gateway.max_header,
            "max_headers": 100,
            "keepalive_timeout": gateway.header_deadline,  # also bounds how long a head may take
            "lingering_time": 2.0,
            "auto_decompress": False,
            "access_log": None,
            "logger": log,
        }

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._limits)
