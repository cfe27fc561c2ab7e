"""A strict fake of an engine's small endpoints: answers what it was given, 404 to all else, misbehaves on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pitstop.client.endpoint import Endpoint


@dataclass(frozen=True)
class Reply:
    """`body` is sent as it is; `stall` never sends a byte, `endless` never stops."""

    body: str = ""
    status: int = 200
    content_type: str = "application/json"
    stall: bool = False
    endless: bool = False
    raw: bytes = b""  # sent in place of an HTTP reply


@dataclass
class FakeEngine:
    """What it answers by path (with the query first, then without), and what it was asked."""

    replies: dict[str, Reply | Callable[[], Reply]]
    api_key: str | None = None
    asked: list[str] = field(default_factory=list)

    def reply_to(self, path: str, authorization: str | None) -> Reply:
        self.asked.append(path)
        if self.api_key is not None and authorization != f"Bearer {self.api_key}":
            return Reply('{"error":"Unauthorized"}', 401)
        plain = path.partition("?")[0]
        found = self.replies.get(path) or self.replies.get(plain) or Reply('{"detail":"Not Found"}', 404)
        return found if isinstance(found, Reply) else found()


def as_json(value: object, status: int = 200) -> Reply:
    return Reply(json.dumps(value), status)


def as_text(text: str, status: int = 200) -> Reply:
    return Reply(text, status, "text/plain; version=0.0.4")


def listed(*names: str, **more: object) -> Reply:
    return as_json({"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]})


@asynccontextmanager
async def serving(
    replies: Mapping[str, Reply | Callable[[], Reply]],
    *,
    model: str = "m",
    api_key: str | None = None,
    sent_key: str | None = None,
) -> AsyncIterator[tuple[Endpoint, FakeEngine]]:
    """Serve on a free port for as long as the block runs."""
    engine = FakeEngine(dict(replies), api_key)
    open_writers: set[asyncio.StreamWriter] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_writers.add(writer)
        try:
            await _answer(engine, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            open_writers.discard(writer)
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield Endpoint(f"http://127.0.0.1:{port}/v1", model, sent_key), engine
    finally:
        server.close()
        for writer in list(open_writers):
            writer.transport.abort()
        await asyncio.sleep(0)


async def _answer(engine: FakeEngine, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    lines = head.split("\r\n")
    key = next((line.split(": ", 1)[1] for line in lines if line.lower().startswith("authorization:")), None)
    reply = engine.reply_to(lines[0].split()[1], key)
    if reply.raw:
        writer.write(reply.raw)
        await writer.drain()
        return
    if reply.stall:
        await reader.read()  # until the other side gives up
        return
    await _send(reply, writer)


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> None:
    body = reply.body.encode()
    length = "" if reply.endless else f"Content-Length: {len(body)}\r\n"
    writer.write(
        f"HTTP/1.1 {reply.status} X\r\nContent-Type: {reply.content_type}\r\n{length}Connection: close\r\n\r\n".encode()
    )
    writer.write(body)
    while reply.endless:
        writer.write(b"x" * 2**16)
        await writer.drain()
    await writer.drain()
