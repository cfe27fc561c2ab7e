"""The hot path of a stream: a read is stamped and kept; llhttp takes the framing off when the reply may be over.

Per read nothing but this happens: between two reads of a stream the caches of a busy machine go cold, and every other
line of code is a miss.
"""

from __future__ import annotations

import asyncio
from time import monotonic

import httptools

from pitstop.client.exchange import Exchange, Fault

MAX_HEADER_BYTES = 64 * 1024  # llama.cpp and nginx stop at 8 KiB; nobody sends more by accident

LINGER_S = 1.0  # how long a reply may stay open after [DONE]; then it is over, as it is for every other client

PENDING_READS = 256  # reads that may wait for llhttp; together they take it less than a quarter of a millisecond


class Receiver(asyncio.Protocol):
    """Takes bytes apart as far as llhttp must, stamps them, keeps them."""

    def __init__(self, done: asyncio.Future[None], max_body_bytes: int) -> None:
        self.done = done
        self.sent_at: float | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._status: int | None = None
        self._headers: list[tuple[str, str]] = []
        self._headers_at: float | None = None
        self._finished_at: float | None = None
        self._times: list[float] = []
        self._parts: list[bytes] = []
        self._fault: Fault | None = None
        self._reason = ""
        self._now = 0.0
        self._pending_times: list[float] = []
        self._pending: list[bytes] = []
        self._chunked = False
        self._room = MAX_HEADER_BYTES
        self._max_body_bytes = max_body_bytes
        self._ended = False

    # -- the hot path

    def data_received(self, data: bytes) -> None:
        self._pending_times.append(monotonic())
        self._pending.append(data)
        self._room -= len(data)
        if not self._chunked or _may_end(data) or len(self._pending) >= PENDING_READS:
            self._take()

    # -- a few times per exchange

    def _take(self) -> None:
        """Let llhttp take the framing off what has piled up; each piece keeps the time of the read that brought it."""
        pending = zip(self._pending_times, self._pending, strict=True)
        self._pending_times, self._pending = [], []
        if self._ended and self._room < 0:  # a loop may read many times more before it hears that this is over
            return
        for self._now, data in pending:
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as bad:
                self.end(Fault.NOT_HTTP, _not_http(bad, data, self._status))
        if self._room < 0:
            self._too_long()

    def on_body(self, body: bytes) -> None:
        self._times.append(self._now)
        self._parts.append(body)
        if b"[DONE]" in body[-12:]:
            self.done.get_loop().call_later(LINGER_S, self._linger, len(self._parts))

    # -- once per exchange

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        self._headers_at = self._now
        self._room = self._max_body_bytes
        self._chunked = "chunked" in self._value("transfer-encoding").lower()
        coding = self._value("content-encoding")
        if coding.lower() not in {"", "identity"}:
            self.end(Fault.ENCODED, f"the body is encoded as {coding[:40]!r}, although identity was asked for")

    def _linger(self, parts: int) -> None:
        if len(self._parts) == parts:
            self.end(Fault.TRUNCATED, f"the server kept the connection open for {LINGER_S:g} s after [DONE]")

    def on_message_complete(self) -> None:
        if self._status is not None and 100 <= self._status < 200:  # 100 Continue, 103 Early Hints: the reply follows
            self._status, self._headers, self._room, self._chunked = None, [], MAX_HEADER_BYTES, False
            return
        self.end()

    def eof_received(self) -> None:
        self._take()
        self._now = monotonic()
        if self._until_close():
            self.end()
        else:
            self.end(Fault.TRUNCATED, self._truncated())

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:
            self.eof_received()
        else:
            self._take()
            self.end(Fault.RESET, f"the connection broke {self._where()} ({exc})")

    def end(self, fault: Fault | None = None, reason: str = "") -> None:
        """The first end counts; what comes later is not part of the exchange."""
        if self._ended:
            return
        self._ended, self._fault, self._reason = True, fault, reason
        self._finished_at = monotonic() if fault is not None else self._now
        if not self.done.done():
            self.done.set_result(None)

    def exchange(self, url: str) -> Exchange:
        self._take()
        ends, total = [], 0
        for part in self._parts:
            total += len(part)
            ends.append(total)
        return Exchange(
            url=url, sent_at=self.sent_at, headers_at=self._headers_at, finished_at=self._finished_at,
            status=self._status, headers=tuple(self._headers), body=b"".join(self._parts),
            times=tuple(self._times), ends=tuple(ends), fault=self._fault, reason=self._reason,
        )  # fmt: skip

    def _value(self, name: str) -> str:
        return next((value.strip() for key, value in self._headers if key == name), "")

    def _until_close(self) -> bool:
        """Whether this reply ends where the connection ends (RFC 9112, 6.3, rule 8)."""
        return self._status is not None and not self._chunked and not self._value("content-length")

    def _too_long(self) -> None:
        if self._status is None:
            self.end(Fault.HEADERS_TOO_LONG, f"more than {MAX_HEADER_BYTES} bytes of headers")
        else:
            self.end(Fault.BODY_TOO_LONG, f"more than {self._max_body_bytes} bytes of body")

    def _truncated(self) -> str:
        return f"the server closed the connection {self._where()}"

    def _where(self) -> str:
        if self._status is None:
            return "before it answered"
        return f"after {sum(map(len, self._parts))} bytes of a body that was not whole"


def _may_end(data: bytes) -> bool:
    """Whether a chunked reply may be over with this read: every last chunk ends in two line ends."""
    return data.endswith(b"\r\n\r\n") or len(data) < 4 or b"[DONE]" in data[-20:]


def _not_http(bad: Exception, data: bytes, status: int | None) -> str:
    if status is None:
        return f"what answers is no HTTP server; it began with {data[:40]!r}"
    return f"the reply breaks the rules of HTTP ({bad}) at {data[:40]!r}"
