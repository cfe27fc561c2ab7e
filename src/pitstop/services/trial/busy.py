"""One token of production that others keep busy: it stands in their queue for longer than a single wait.

A restart would cost all of them their answers, and queue them up again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from pitstop.core.errors import PitstopError, RequestRefused, Unreachable
from pitstop.engines.adapter import Counters
from pitstop.services.site import Site

LEAST_PATIENCE_S = 600.0  # a queue is not shorter because an engine boots quickly
_FIRST_WAIT_S = 60.0  # and then twice as long each time: whoever asks anew stands at the end of the queue
_AGAIN_S = 2.0


class Generate(Protocol):
    """One token within the deadline; see `services.token`."""

    async def __call__(self, site: Site, *, deadline_s: float) -> str: ...


async def token_in_time(
    site: Site,
    generate: Generate,
    patience_s: float,
    say: Callable[[str], None],
    pause: Callable[[float], Awaitable[None]],
) -> str:
    """What `generate` gives. While the engine works for others it is asked again, for `patience_s` seconds.

    The last wait may end later than that: it is as long as all before it together. Unreachable when the engine gives
    nothing and does nothing either, or the patience is over; RequestRefused at once.
    """
    until, wait_s = time.monotonic() + patience_s, _FIRST_WAIT_S
    while True:
        before = await _counters(site)
        try:
            return await generate(site, deadline_s=wait_s)
        except RequestRefused:
            raise
        except Unreachable:
            if time.monotonic() >= until or not worked(before, await _counters(site)):
                raise
        say(f"{site.name} is busy with the requests of others; a token of our own is asked for again")
        await pause(_AGAIN_S)
        wait_s *= 2


def worked(before: Counters | None, after: Counters | None) -> bool:
    """Whether an engine generated or finished anything between two readings; a restart or no counters is no. Pure."""
    if before is None or after is None or before.process_start_s != after.process_start_s:
        return False
    pairs = (
        (before.generation_tokens, after.generation_tokens),
        (before.requests_finished, after.requests_finished),
    )
    return any(first is not None and second is not None and second > first for first, second in pairs)


async def _counters(site: Site) -> Counters | None:
    try:
        return await site.adapter.counters(site.endpoint)
    except PitstopError:
        return None
