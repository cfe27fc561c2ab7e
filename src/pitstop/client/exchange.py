"""One raw HTTP exchange, kept as it came: bytes, and when they came. All else is worked out from it afterwards."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class Fault(StrEnum):
    """Why an exchange is not a whole HTTP reply."""

    NAME = "name-not-found"
    CONNECT = "connection-refused"
    CONNECT_TIMEOUT = "connect-timeout"
    TLS = "tls"
    RESET = "connection-reset"
    TRUNCATED = "truncated"  # closed before the reply was whole
    DEADLINE = "deadline"
    NOT_HTTP = "not-http"
    HEADERS_TOO_LONG = "headers-too-long"
    BODY_TOO_LONG = "body-too-long"
    ENCODED = "encoded"  # compressed although that was not asked for


@dataclass(frozen=True)
class Exchange:
    """A request and what came back. Times are seconds of `time.monotonic`; what went wrong is in `fault`."""

    url: str  # without credentials
    sent_at: float | None = None  # the request was handed to the kernel, on a connection that was already open
    connected_at: float | None = None
    headers_at: float | None = None
    finished_at: float | None = None  # the reply was whole, or given up
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case
    body: bytes = b""
    times: tuple[float, ...] = ()  # when each piece of the body arrived
    ends: tuple[int, ...] = ()  # where each piece ends in `body`
    fault: Fault | None = None
    reason: str = ""  # a sentence; empty without a fault

    @property
    def complete(self) -> bool:
        """Whether the whole reply arrived, whatever its status."""
        return self.fault is None and self.status is not None

    @cached_property
    def chunks(self) -> tuple[tuple[float, bytes], ...]:
        """The pieces of the body as they arrived: (seconds, bytes)."""
        starts = (0, *self.ends[:-1])
        return tuple((t, self.body[a:b]) for t, a, b in zip(self.times, starts, self.ends, strict=True))

    def header(self, name: str) -> str | None:
        """The first header of that name (any case), or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)

    def arrival(self, end: int) -> float:
        """When the byte before offset `end` (1 to `len(body)`) arrived. IndexError outside the body."""
        return self.times[bisect_left(self.ends, end)]
