"""The gateway's own door for pitstop: a Unix socket that says how many requests are inside each engine.

`$PITSTOP_HOME/gateway/control/PID.sock`, one per gateway, because an old one may still finish its streams while a new
one serves. A connection gets one JSON line and is closed; before it answers, the gateway reads holds and lease again,
so that who asks after `hold` sees a count that can only fall.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec

from pitstop.core.errors import Unreachable
from pitstop.core.home import Home

_MOST_BYTES = 1 << 20


class Census(msgspec.Struct, frozen=True):
    """How many requests are inside each engine, as one gateway counts them."""

    pid: int
    in_flight: dict[str, int]


@contextlib.asynccontextmanager
async def answering(home: Home, census: Callable[[], Census]) -> AsyncIterator[None]:
    """Answer on the socket as long as the block runs."""
    folder = _folder(home)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{os.getpid()}.sock"
    path.unlink(missing_ok=True)

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(msgspec.json.encode(census()) + b"\n")
        writer.close()

    with _reachable(path) as short:
        server = await asyncio.start_unix_server(answer, str(short))
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


def ask_all(home: Home, *, deadline_s: float = 2.0) -> list[Census]:
    """Every gateway that runs on this state folder; Unreachable when one is there and does not answer."""
    answers = [_ask(path, deadline_s) for path in sorted(_folder(home).glob("*.sock"))]
    return [answer for answer in answers if answer is not None]


def _ask(path: Path, deadline_s: float) -> Census | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, _reachable(path) as short:
        connection.settimeout(deadline_s)
        try:
            connection.connect(str(short))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)  # left by a gateway that was killed
            return None
        except OSError as error:
            raise _silent(path) from error
        try:
            return msgspec.json.decode(_whole(connection), type=Census)
        except (OSError, ValueError) as error:
            if not Path(f"/proc/{path.stem}").exists():
                return None  # it ended while it was asked
            raise _silent(path) from error


def _whole(connection: socket.socket) -> bytes:
    answer = b""
    while len(answer) < _MOST_BYTES and (part := connection.recv(65536)):
        answer += part
    return answer


def _silent(path: Path) -> Unreachable:
    return Unreachable(
        f"the gateway with process {path.stem} does not answer on {path}.",
        hint="Its number of running requests is not known. Restart it, then try again.",
    )


@contextlib.contextmanager
def _reachable(path: Path) -> Iterator[Path]:
    """The same socket under a short name: its address may have 108 bytes at most, a state folder may have more."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/self/fd/{folder}") / path.name
    finally:
        os.close(folder)


def _folder(home: Home) -> Path:
    return home.root / "gateway" / "control"
