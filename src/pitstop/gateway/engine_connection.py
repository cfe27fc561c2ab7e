"""One connection to an engine: llhttp takes the framing off, and what is left goes straight where it is wanted.

aiohttp's client wakes a task for every event and costs more per request than all the rest of the gateway
(`docs/adr/0080-gateway-http.md` has the numbers). Here an event is handed on in the callback that received it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import httptools

_MOST_HEAD_BYTES = 64 * 1024  # llama.cpp and nginx stop at 8 KiB
_MOST_WAITING_BYTES = 256 * 1024  # of a body that nobody takes; then the engine is not read from any more


class Broken(Exception):
    """The engine's side failed; the text says how, to follow "the engine"."""


class EngineConnection(asyncio.Protocol):
    """Used for one request at a time, and again while it is `reusable`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._sink: Callable[[bytes], None] | None = None
        self._broken = ""
        self._open = False
        self._keep = True
        self.used = False  # has answered before
        self.touched = False  # the engine has said something to this request
        self.last_byte_s = 0.0  # on the event loop's clock
        self.idle_since_s = 0.0
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self._parts: list[bytes] = []
        self._waiting_bytes = 0
        self._head_bytes = 0
        self._has_head = False
        self._complete = False
        self._extra = False

    # What an exchange does with it

    def send(self, request: bytes) -> None:
        """Begin a request."""
        self._begin()
        self._open = True
        self.touched = False
        self._sink = None
        if not self._transport.is_closing():  # then it is broken, and whoever waits for the head is told
            self._transport.write(request)

    async def head(self) -> None:
        """Wait for status and headers; Broken when they do not come."""
        while not self._has_head:
            await self._news()

    async def read(self) -> bytes:
        """The next bytes of the body, b"" at its end; Broken when it breaks off."""
        while not self._parts:
            if self._complete:
                return b""
            await self._news()
        return self._taken()

    def unread(self, body: bytes) -> None:
        """Put back what `read` gave."""
        if body:
            self._parts.insert(0, body)

    def divert(self, sink: Callable[[bytes], None]) -> None:
        """From now on hand every piece of the body to `sink` as soon as it is received; `sink` must not raise."""
        self._sink = sink
        if self._parts:
            sink(self._taken())

    async def ended(self) -> None:
        """Wait for the end of a diverted body, or for `wake`; Broken when it breaks off."""
        if not self._complete:
            await self._news()

    @property
    def complete(self) -> bool:
        return self._complete

    def wake(self) -> None:
        """Let the task that waits look around."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def pause(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    @property
    def content_type(self) -> str:
        for name, value in self.headers:
            if name == "content-type":
                return value.partition(";")[0].strip().lower()
        return ""

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent: this one is over, and the engine keeps the connection."""
        return (
            self._complete and self._keep and not self._extra and not self._broken and not self._transport.is_closing()
        )

    def close(self) -> None:
        """Close at once: what the engine is still generating is for nobody."""
        self._broken = self._broken or "was left"
        self._sink = None
        self._transport.abort()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self._open or self._complete:
            self._fail("spoke without being asked")
            return
        self.touched = True
        self.last_byte_s = self._loop.time()
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail("answered with something that is no HTTP")
        if not self._has_head and self._head_bytes > _MOST_HEAD_BYTES:
            self._fail("sent a head without end")
        self._deliver()

    def eof_received(self) -> None:
        # Without a length and without chunks the end of the connection is the end of the body.
        if self._has_head and not self._complete and not self._sized:
            self._complete, self._keep = True, False
        self._fail("closed the connection in the middle of its answer" if self._has_head else "closed the connection")

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:
            self.eof_received()
        else:
            self._fail("broke the connection")

    # What httptools calls

    def on_message_begin(self) -> None:
        if self._complete:  # a second answer to one question, in the same packet
            self._extra = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._extra:
            self.headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        if self._extra:
            return
        self.status = self._parser.get_status_code()
        self._sized = any(name in ("content-length", "transfer-encoding") for name, _value in self.headers)
        self._has_head = self.status >= 200  # 100 and 103 come before the answer

    def on_body(self, body: bytes) -> None:
        if not self._extra:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._extra:
            return
        if self._has_head:
            self._complete = True
            self._keep = self._parser.should_keep_alive()
        else:
            self._begin()

    # Inside

    def _deliver(self) -> None:
        if self._sink is None:
            self._waiting_bytes += sum(map(len, self._parts))
            if self._waiting_bytes > _MOST_WAITING_BYTES:
                self.pause()
            self.wake()
            return
        if self._parts:
            self._sink(self._taken())
        if self._complete:
            self.wake()

    def _taken(self) -> bytes:
        parts = self._parts
        taken = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        if self._waiting_bytes > _MOST_WAITING_BYTES:
            self.resume()
        self._waiting_bytes = 0
        return taken

    async def _news(self) -> None:
        self._raise_broken()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if not self._complete and not self._parts:
            self._raise_broken()

    def _raise_broken(self) -> None:
        if self._broken:
            raise Broken(self._broken)

    def _fail(self, how: str) -> None:
        self._broken = self._broken or how
        if not self._transport.is_closing():
            self._transport.abort()
        self.wake()
