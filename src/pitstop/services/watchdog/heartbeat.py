"""Tells systemd that the watchdog itself is alive, as long as its loop gets round (`WatchdogSec`)."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping


class Heartbeat:
    """`sd_notify`, without the library: one datagram to the socket in NOTIFY_SOCKET. Silent where there is none."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        usec = environ.get("WATCHDOG_USEC", "")
        self.every_s: float | None = int(usec) / 2e6 if usec.isdigit() and int(usec) > 0 else None

    def ready(self) -> None:
        self._send("READY=1")

    def beat(self, status: str = "") -> None:
        self._send(f"WATCHDOG=1\nSTATUS={status[:200]}" if status else "WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as end,
        ):
            end.setblocking(False)
            end.sendto(text.encode(), address)
