"""An engine that costs next to nothing: a fixed reply, or a fixed number of events at a fixed pace.

python -m benchmarks.canned_engine PORT EVENTS PACE_S
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, cast

import uvloop

_HEAD: dict[str, Any] = {"id": "chatcmpl-1", "created": 1, "model": "m"}
_USAGE = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}


def _reply() -> bytes:
    message = {"role": "assistant", "content": "Hi"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body = json.dumps({**_HEAD, "object": "chat.completion", "choices": choices, "usage": _USAGE}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    event = json.dumps({**_HEAD, "object": "chat.completion.chunk", "choices": choices}, separators=(",", ":"))
    return _chunked(b"data: %s\n\n" % event.encode())


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


REPLY = _reply()
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TOKEN = _chunk({"content": " hello"})
END = _chunk({}, "stop") + _chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n"


class Engine(asyncio.Protocol):
    def __init__(self, events: int, pace_s: float) -> None:
        self._events, self._pace_s = events, pace_s
        self._pending = b""
        self._streams: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._pending += data
        while (end := self._pending.find(b"\r\n\r\n")) >= 0:
            head = self._pending[:end].lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            if len(self._pending) < end + 4 + length:
                return
            body, self._pending = self._pending[end + 4 : end + 4 + length], self._pending[end + 4 + length :]
            if b'"stream":true' in body.replace(b" ", b""):
                task = asyncio.ensure_future(self._stream())
                self._streams.add(task)
                task.add_done_callback(self._streams.discard)
            else:
                self._transport.write(REPLY)

    async def _stream(self) -> None:
        self._transport.write(STREAM_HEAD)
        for _ in range(self._events):
            self._transport.write(TOKEN)
            await asyncio.sleep(self._pace_s)
        self._transport.write(END)


async def serve(port: int, events: int, pace_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Engine(events, pace_s), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
