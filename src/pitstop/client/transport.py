"""Opens connections and sends requests; what comes back goes through `receiver`, which only stamps and keeps.

Redirects are not followed (the key would follow too), nothing is decompressed, proxies from the environment are not
used: what is measured is the way to this server.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass, replace
from functools import cache
from time import monotonic

from pitstop.client.endpoint import Endpoint
from pitstop.client.exchange import Exchange, Fault
from pitstop.client.receiver import Receiver
from pitstop.client.target import Target, parse_target, request_head

MAX_BODY_BYTES = 256 * 1024 * 1024  # a 32,000-token reply with usage in every event is about 12 MB
CONNECT_S = 10.0


async def exchange(
    endpoint: Endpoint,
    path: str,
    payload: bytes | None = None,
    *,
    deadline_s: float,
    connect_s: float = CONNECT_S,
    max_body_bytes: int = MAX_BODY_BYTES,
    root: bool = False,
) -> Exchange:
    """One request on a fresh connection: POST with a payload, GET without.

    `path` is appended to the base URL, or with `root` to the server itself. `deadline_s` bounds everything from the
    first packet to the last byte, `connect_s` the connection. Times count from `sent_at`, when the request is written
    on the open connection: name lookup and handshakes are not the engine's. Never raises for what a server does;
    UsageError when the URL or the key cannot be sent at all.
    """
    started_at = monotonic()
    opened = await open_connection(
        endpoint, path, connect_s=min(connect_s, deadline_s), max_body_bytes=max_body_bytes, root=root
    )
    if isinstance(opened, Exchange):
        return opened
    return await opened.request(payload, deadline_s=max(0.0, deadline_s - (monotonic() - started_at)))


async def open_connection(
    endpoint: Endpoint,
    path: str,
    *,
    connect_s: float = CONNECT_S,
    max_body_bytes: int = MAX_BODY_BYTES,
    root: bool = False,
) -> Connection | Exchange:
    """Connect and wait with the request, so that many can start at the same moment; an Exchange when that failed."""
    target = parse_target(endpoint.root_url if root else endpoint.base_url, path)
    request_head(target, body_bytes=None, api_key=endpoint.api_key)  # refuses an unsendable key before connecting
    loop = asyncio.get_running_loop()
    receiver = Receiver(loop.create_future(), max_body_bytes)
    try:
        async with asyncio.timeout(connect_s):
            transport, _ = await loop.create_connection(
                lambda: receiver, target.host, target.port, ssl=_tls_context() if target.tls else None
            )
    except (OSError, TimeoutError, ssl.CertificateError, UnicodeError) as failure:
        fault, reason = _connect_fault(failure, target, connect_s)
        return Exchange(url=target.url, finished_at=monotonic(), fault=fault, reason=reason)
    return Connection(target, endpoint.api_key, receiver, transport, monotonic())


@dataclass(frozen=True, repr=False)
class Connection:
    """An open connection that has not been used yet."""

    target: Target
    api_key: str | None
    receiver: Receiver
    transport: asyncio.Transport
    connected_at: float

    async def request(self, payload: bytes | None, *, deadline_s: float) -> Exchange:
        """Send the request now and return when the reply is whole, given up, or `deadline_s` have passed."""
        self.send(payload)
        return await self.reply(deadline_s=deadline_s)

    def send(self, payload: bytes | None) -> None:
        """Hand the request to the kernel; the clock of the exchange starts here."""
        head = request_head(self.target, body_bytes=None if payload is None else len(payload), api_key=self.api_key)
        self.receiver.sent_at = monotonic()
        if not self.transport.is_closing():  # a server may close what it had accepted; then the receiver knows
            self.transport.write(head + (payload or b""))

    async def reply(self, *, deadline_s: float) -> Exchange:
        """The exchange, once `send` was called."""
        receiver = self.receiver
        timer = asyncio.get_running_loop().call_later(
            deadline_s, receiver.end, Fault.DEADLINE, f"no whole reply within {deadline_s:.3g} s"
        )
        try:
            await receiver.done
        except asyncio.CancelledError:
            self.abandon()
            raise
        finally:
            timer.cancel()
        raw = replace(receiver.exchange(self.target.url), connected_at=self.connected_at)
        if raw.complete:
            self.transport.close()  # in good order: an abort would look like a failure in the server's log
        else:
            self.abandon()
        return raw

    def abandon(self) -> None:
        """Close at once; harmless when it is closed already."""
        self.transport.abort()


def _connect_fault(failure: Exception, target: Target, connect_s: float) -> tuple[Fault, str]:
    where = f"{target.host} port {target.port}"
    if isinstance(failure, ssl.SSLError | ssl.CertificateError):
        return Fault.TLS, f"no TLS connection to {where} ({_tls_words(failure)})"
    if isinstance(failure, TimeoutError) and not getattr(failure, "errno", None):
        return Fault.CONNECT_TIMEOUT, f"no connection to {where} within {connect_s:g} s"
    if isinstance(failure, socket.gaierror | UnicodeError):
        return Fault.NAME, f"the name {target.host!r} cannot be resolved ({failure})"
    return Fault.CONNECT, f"nothing accepts connections at {where} ({_os_words(failure)})"


def _tls_words(failure: Exception) -> str:
    return str(getattr(failure, "verify_message", "") or getattr(failure, "reason", "") or failure)


def _os_words(failure: Exception) -> str:
    number = getattr(failure, "errno", None)
    return (os.strerror(number) if number else str(failure)).lower()


@cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()  # honours SSL_CERT_FILE and SSL_CERT_DIR
