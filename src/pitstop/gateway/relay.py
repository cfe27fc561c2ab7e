"""One stream from an engine to a client, event by event, with the time watched on both sides.

An event that arrives is watched and handed on in the very callback that received it; the task of the exchange sleeps
until the stream ends, breaks, stalls or the client is slow.
"""

from __future__ import annotations

import asyncio
import time
from enum import Enum

from pitstop.gateway.client_side import ClientSide
from pitstop.gateway.engine_connection import Broken, EngineConnection
from pitstop.gateway.stream_watch import StreamWatch
from pitstop.gateway.upstream import EngineFailure


class Ended(Enum):
    PROPERLY = "properly"
    TORN = "torn"  # the engine's connection broke, or the stream stopped without its end
    STALLED = "stalled"


class Relay:
    """`prelude` until the first event is known, then `run` to the end."""

    def __init__(self, reply: EngineConnection, watch: StreamWatch, client: ClientSide) -> None:
        self._reply = reply
        self._watch = watch
        self._client = client
        self._lost: ConnectionError | None = None
        self.first_token_at_s: float | None = None  # of time.perf_counter: uvloop's own clock ticks in milliseconds

    async def prelude(self) -> bytes:
        """Read until the first event, or the first comment, is there; what the client gets of it.

        EngineFailure when the stream ends or breaks before.
        """
        while True:
            try:
                chunk = await self._reply.read()
            except Broken as error:
                raise EngineFailure("broke off before its first event") from error
            if not chunk:
                raise EngineFailure("ended its stream before the first event")
            ready = self._watched(chunk)
            if ready or self._watch.started:
                return ready

    async def run(self, ready: bytes, stall_s: float) -> Ended:
        """Hand on until the end. ConnectionError and CancelledError when the client has gone."""
        if ready:
            await self._client.write(ready)
        self._reply.divert(self._hand_on)
        try:
            while not self._reply.complete:
                if not await self._something_happened(stall_s):
                    self._reply.close()  # nothing of it may come after the error event
                    return Ended.STALLED
                await self._look_after_client()
        except Broken:
            return Ended.TORN
        await self._look_after_client()
        return await self._finish()

    def _hand_on(self, chunk: bytes) -> None:
        """Called with every piece of the stream; must not raise."""
        ready = self._watched(chunk)
        try:
            if ready and self._lost is None:
                self._client.push(ready)
        except ConnectionError as error:
            self._lost = error
            self._reply.wake()
        if self._client.is_slow:
            self._reply.pause()
            self._reply.wake()

    def _watched(self, chunk: bytes) -> bytes:
        ready = self._watch.feed(chunk)
        if self.first_token_at_s is None and self._watch.has_token:
            self.first_token_at_s = time.perf_counter()
        return ready

    async def _something_happened(self, stall_s: float) -> bool:
        """Wait for the end, a slow client or a break; False when the engine says nothing for too long."""
        loop = asyncio.get_running_loop()
        silent_since_s = loop.time()
        while True:
            try:
                async with asyncio.timeout_at(silent_since_s + stall_s):
                    await self._reply.ended()
            except TimeoutError:
                if self._reply.last_byte_s <= silent_since_s:
                    return False
                silent_since_s = self._reply.last_byte_s
            else:
                return True

    async def _look_after_client(self) -> None:
        if self._lost is not None:
            raise self._lost
        if self._client.is_slow:
            await self._client.taken()
        self._reply.resume()

    async def _finish(self) -> Ended:
        if rest := self._watch.rest():
            await self._client.write(rest)
        ended = self._watch.ended_properly() or self._watch.error_seen
        return Ended.PROPERLY if ended else Ended.TORN
