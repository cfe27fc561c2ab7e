"""The reply to the client: begun once, by whoever has the first byte, and never by two engines."""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp import web
from aiohttp.http import StreamWriter
from multidict import CIMultiDict

from pitstop.gateway import replies
from pitstop.gateway.apis import Api
from pitstop.gateway.replies import Refusal

_WAITING = b": waiting for the model\n\n"


def own_headers(request_id: str) -> dict[str, str]:
    """What every reply has; which library it comes from is nobody's business."""
    return {"server": "pitstop", "x-request-id": request_id}


class ClientSide:
    """One reply. `begun` means that its head has gone out; `named` that an engine's has."""

    def __init__(self, request: web.BaseRequest, api: Api | None, request_id: str, patience_s: float) -> None:
        self._request = request
        self._api = api
        self._own = own_headers(request_id)
        self._patience_s = patience_s
        self._out: web.StreamResponse | None = None
        self.named = False

    @property
    def begun(self) -> bool:
        return self._out is not None

    async def begin(self, status: int, headers: CIMultiDict[str]) -> None:
        """Send an engine's head, unless ours has gone out already."""
        self.named = True
        if self._out is None:
            await self._prepare(status, headers)

    async def keep_waiting(self) -> None:
        """A comment, so that nobody on the way takes a held request for a dead one."""
        if self._out is None:
            await self._prepare(200, CIMultiDict({"content-type": "text/event-stream", "cache-control": "no-cache"}))
        await self.write(_WAITING)

    async def write(self, data: bytes) -> None:
        """Hand on; returns when there is room for more. ConnectionError when the client has gone or takes nothing."""
        assert self._out is not None, "a reply is begun before it is written"
        self.push(data)
        # Beyond 64 KiB that wait for the client (asyncio's mark) nothing more is read from the engine.
        if self.is_slow:
            await self.taken()

    def push(self, data: bytes) -> None:
        """The same without waiting; ConnectionError when the client has gone. See `is_slow`."""
        writer = self._request.writer
        assert isinstance(writer, StreamWriter)
        # A write that does not drain is a coroutine in name only: it ends without ever waiting.
        with contextlib.suppress(StopIteration):
            writer.write(data, drain=False).send(None)

    @property
    def is_slow(self) -> bool:
        """Whether much of what was written has not been taken yet."""
        return self._request.protocol.writing_paused

    async def taken(self) -> None:
        """Wait until the client has taken most of it; ConnectionError when it takes nothing for too long."""
        try:
            async with asyncio.timeout(self._patience_s):
                await self._request.writer.drain()
        except TimeoutError as error:
            self.abort()
            raise ConnectionResetError("the client took nothing for too long") from error

    async def whole(self, status: int, body: bytes, headers: CIMultiDict[str]) -> web.StreamResponse:
        """A reply in one piece; as an error event where a stream has begun."""
        self.named = True
        if self._out is None:
            headers.update(self._own)
            self._out = web.Response(status=status, body=body, headers=headers)
            return self._out
        text = body[:2000].decode("utf-8", "replace")
        return await self.break_off(replies.engine_failed(status, f"answered with status {status}: {text}"))

    async def refuse(self, refusal: Refusal) -> web.StreamResponse:
        """The gateway's own no, in whatever form is still possible."""
        if self._out is not None:
            return await self.break_off(refusal)
        headers = CIMultiDict({"content-type": "application/json", **self._own})
        if refusal.retry_after_s is not None:
            headers["retry-after"] = str(max(1, round(refusal.retry_after_s + 0.5)))
        if refusal.status == 401:
            headers["www-authenticate"] = "Bearer"
        return web.Response(status=refusal.status, body=replies.body(self._api, refusal), headers=headers)

    async def break_off(self, refusal: Refusal) -> web.StreamResponse:
        """End a stream that has begun with an error event; no end marker, because it is not an end."""
        assert self._api is not None
        await self.write(replies.event(self._api, refusal))
        return await self.end()

    async def end(self) -> web.StreamResponse:
        assert self._out is not None
        await self._out.write_eof()
        return self._out

    def abort(self) -> None:
        """Cut the connection of a client that takes nothing any more."""
        if self._request.transport is not None:
            self._request.transport.abort()

    async def _prepare(self, status: int, headers: CIMultiDict[str]) -> None:
        headers.update(self._own)
        self._out = web.StreamResponse(status=status, headers=headers)
        await self._out.prepare(self._request)
