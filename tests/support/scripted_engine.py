"""An engine that does exactly what a test says, on a real socket, and notes what reached it and who left."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

CHUNK = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "engine-model"}


@dataclass
class Seen:
    """One request as it reached the engine."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Wire:
    """What a script writes with. `gone` is set when the other side closed."""

    writer: asyncio.StreamWriter
    gone: asyncio.Event

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self, status: int, body: bytes, content_type: str = "application/json", extra: str = "") -> None:
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
        await self.send(head.encode() + body)

    async def begin_stream(self) -> None:
        await self.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def end_stream(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def stream(self, *frames: bytes) -> None:
        await self.begin_stream()
        for frame in frames:
            await self.chunk(frame)
        await self.end_stream()

    def cut(self) -> None:
        self.writer.transport.abort()


Script = Callable[[Seen, Wire], Awaitable[None]]


@dataclass
class ScriptedEngine:
    """`script` may be exchanged at any time."""

    script: Script
    seen: list[Seen] = field(default_factory=list)
    left: int = 0  # connections that the other side closed while a script ran
    port: int = 0
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Go down: refuse connections, cut those that are there."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        while self._writers:  # noqa: ASYNC110 - until every connection's task has ended
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    request = await _read(reader)
                    self.seen.append(request)
                    await self._run(request, reader, writer)
        finally:
            writer.close()
            self._writers.discard(writer)

    async def _run(self, request: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(writer, asyncio.Event())
        script = asyncio.ensure_future(self.script(request, wire))
        watch = asyncio.ensure_future(reader.read(1))  # nothing may come before the answer but the end
        try:
            await asyncio.wait((script, watch), return_when=asyncio.FIRST_COMPLETED)
            if not script.done() or isinstance(script.exception(), ConnectionError):
                self.left += 1
                wire.gone.set()
                raise ConnectionResetError
            script.result()
        finally:
            for task in (script, watch):
                task.cancel()
            await asyncio.gather(script, watch, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
    return Seen(line, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


@contextlib.asynccontextmanager
async def engine(script: Script) -> AsyncIterator[ScriptedEngine]:
    scripted = ScriptedEngine(script)
    await scripted.start()
    try:
        yield scripted
    finally:
        await scripted.stop()


def frame(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    """One event of a chat stream, as an engine writes it."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: " + json.dumps({**CHUNK, "choices": choices, **more}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
TALK = (frame({"role": "assistant"}), frame({"content": "Hel"}), frame({"content": "lo"}), frame({}, "stop"))


def reply_body(text: str = "Hello", **usage: Any) -> bytes:
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return json.dumps({**CHUNK, "object": "chat.completion", "choices": choices, "usage": {**USAGE, **usage}}).encode()


async def well(request: Seen, wire: Wire) -> None:
    """What a good engine does: a stream or a reply, with usage where it was asked for."""
    asked = json.loads(request.body or b"{}")
    if not asked.get("stream"):
        await wire.reply(200, reply_body())
        return
    wanted = (asked.get("stream_options") or {}).get("include_usage")
    await wire.stream(*TALK, *([frame(None, usage=USAGE)] if wanted else []), DONE)


async def silent(_request: Seen, wire: Wire) -> None:
    """Accepts, and never says anything."""
    await wire.gone.wait()


def failing(status: int, body: bytes = b'{"error":{"message":"broken"}}') -> Script:
    async def fail(_request: Seen, wire: Wire) -> None:
        await wire.reply(status, body)

    return fail


def streaming(*frames: bytes) -> Script:
    async def stream(_request: Seen, wire: Wire) -> None:
        await wire.stream(*frames)

    return stream
