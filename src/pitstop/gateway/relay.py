"""One stream from an engine to a client, event by event, with the time watched on both sides."""

from __future__ import annotations

import asyncio
import time
from enum import Enum

import aiohttp

from pitstop.gateway.client_side import ClientSide
from pitstop.gateway.stream_watch import StreamWatch
from pitstop.gateway.upstream import EngineFailure

_REARM_EVERY_S = 1.0  # moving a deadline costs about as much as handing on an event


class Ended(Enum):
    PROPERLY = "properly"
    TORN = "torn"  # the engine's connection broke, or the stream stopped without its end
    STALLED = "stalled"


class _Broken(Exception):
    """The engine's side of the stream broke."""


class Relay:
    """`prelude` until the first event is known, then `run` to the end."""

    def __init__(self, reply: aiohttp.ClientResponse, watch: StreamWatch, client: ClientSide) -> None:
        self._content = reply.content
        self._watch = watch
        self._client = client
        self.first_token_at_s: float | None = None  # of time.perf_counter: uvloop's own clock ticks in milliseconds

    async def prelude(self) -> bytes:
        """Read until the first event, or the first comment, is there; what the client gets of it.

        EngineFailure when the stream ends or breaks before.
        """
        while True:
            try:
                chunk = await self._read()
            except _Broken as error:
                raise EngineFailure("broke off before its first event") from error
            if not chunk:
                raise EngineFailure("ended its stream before the first event")
            ready = self._watch.feed(chunk)
            self._note_first_token()
            if ready or self._watch.started:
                return ready

    async def run(self, ready: bytes, stall_s: float) -> Ended:
        """Hand on until the end. ConnectionError and CancelledError when the client has gone."""
        try:
            async with asyncio.timeout(stall_s) as scope:
                await self._hand_on(ready, scope, stall_s)
        except TimeoutError:
            return Ended.STALLED
        except _Broken:
            return Ended.TORN
        return await self._finish()

    async def _hand_on(self, ready: bytes, scope: asyncio.Timeout, stall_s: float) -> None:
        loop = asyncio.get_running_loop()
        armed_s = loop.time()
        while True:
            if ready:
                if self._client.is_slow:  # then it is not the engine that is waited for
                    scope.reschedule(None)
                    armed_s = 0.0
                await self._client.write(ready)
            now_s = loop.time()
            if now_s - armed_s > _REARM_EVERY_S:
                armed_s = now_s
                scope.reschedule(now_s + stall_s)
            chunk = await self._read()
            if not chunk:
                return
            ready = self._watch.feed(chunk)
            if self.first_token_at_s is None:
                self._note_first_token()

    def _note_first_token(self) -> None:
        if self._watch.has_token:
            self.first_token_at_s = time.perf_counter()

    async def _read(self) -> bytes:
        try:
            return await self._content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise _Broken from error

    async def _finish(self) -> Ended:
        if rest := self._watch.rest():
            await self._client.write(rest)
        ended = self._watch.ended_properly() or self._watch.error_seen
        return Ended.PROPERLY if ended else Ended.TORN
