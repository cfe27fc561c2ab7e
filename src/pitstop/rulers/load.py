"""Keeps an engine busy with N streams in a loop while something else is measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pitstop.client.chat import Reply
from pitstop.rulers.asking import Asker, Wish


class Load:
    """Streams that start their next request as soon as one ends. `replies` are those that have ended."""

    def __init__(self, asker: Asker, wishes: Sequence[Wish]) -> None:
        self._asker = asker
        self.wishes = wishes
        self._stop = False
        self._running = asyncio.Event()
        self.replies: list[Reply] = []

    @property
    def failed(self) -> int:
        return sum(not reply.ok for reply in self.replies)

    async def stream(self, wish: Wish) -> None:
        """One of the streams. It ends with its request after `stop`, so that the server is left idle."""
        while not self._stop:
            reply = await self._asker.ask("load", wish)
            self.replies.append(reply)
            self._running.set()
            if not reply.ok:
                await asyncio.sleep(1)  # a server that refuses at once must not be hammered

    def stop(self) -> None:
        self._stop = True

    async def wait_until_running(self) -> None:
        """Until the first request has ended, by when every stream is under way."""
        await self._running.wait()


@asynccontextmanager
async def under_load(loads: Sequence[tuple[Asker, Sequence[Wish]]]) -> AsyncIterator[list[Load]]:
    """Several engines kept busy at once; when it is left, every stream has ended its request or was cancelled."""
    busy = [Load(asker, wishes) for asker, wishes in loads]
    tasks = [asyncio.create_task(load.stream(wish)) for load in busy for wish in load.wishes]
    try:
        for load in busy:
            await load.wait_until_running()
        yield busy
        for load in busy:
            load.stop()
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
