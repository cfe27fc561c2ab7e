"""What a trial needs from the world, as roles that a test can play."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pitstop.core.documents import RunDocument
from pitstop.decisions.trial import Boot, Outcome
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.services.lifecycle import Owner
from pitstop.services.site import Site
from pitstop.services.trial.boot_info import BootTimes
from pitstop.services.trial.door import Door
from pitstop.services.trial.promise import Promise

Say = Callable[[str], None]  # what is being waited for, for the live view


class Measure(Protocol):
    """Measures the engine at a site; see `services.bench`."""

    async def __call__(self, site: Site, promise: Promise, boot: Boot) -> RunDocument: ...


class Memory(Protocol):
    """Knows what a stop should give back, and waits until it has; see `services.trial.memory`."""

    async def expected(self, site: Site, running: Running | None) -> int | None: ...

    async def back(self, site: Site, expected: int | None, timeout_s: float) -> None: ...


class Images(Protocol):
    """Keeps what the arms run from on the machine; returns why not, in words. See `services.trial.images`."""

    async def keep(self, site: Site, promise: Promise) -> str: ...

    async def let_go(self, site: Site, promise: Promise) -> str: ...


class Idle(Protocol):
    """Waits until production may be taken down; see `services.trial.idle`."""

    async def __call__(self, site: Site, promise: Promise) -> Outcome: ...


class Guarded(Protocol):
    """A context in which the memory guard watches; leaving it raises GuardTripped when it had to kill."""

    def __call__(self, site: Site, promise: Promise) -> contextlib.AbstractAsyncContextManager[Owner]: ...


Stopped = Callable[[Site], Awaitable[bool]]  # whether an engine that is down was stopped by somebody
Unfit = Callable[[Site], Awaitable[str]]  # why what came up is not to be measured: its patches; "" when it is


def unfailing(say: Say) -> Say:
    """The same, without its errors: whoever looks on is not worth production."""

    def said(text: str) -> None:
        with contextlib.suppress(Exception):
            say(text)

    return said


async def as_it_should_be(_site: Site) -> str:
    """Nothing to say against the engine that came up."""
    return ""


@dataclass
class Crew:
    """The services that the hands call on; each can be replaced in a test."""

    measure: Measure
    memory: Memory
    images: Images
    idle: Idle
    door: Door  # of the gateway; shut by `idle`, and open again when production is proved
    guarded: Guarded
    generate: Callable[[Site], Awaitable[str]]  # one token, really generated
    info: Callable[[Site, Promise, BootTimes], Awaitable[dict[str, Any]]]  # what is kept of a boot beside its figures
    stopped: Stopped
    why_stop: Callable[[Promise, int], str]  # after so many whole blocks; "" to go on
    served: Callable[[LaunchSpec], None]  # hears of what got ready under the guard
    pause: Callable[[float], Awaitable[None]]  # seconds, between attempts
    clock: Callable[[], str]
    say: Say
    unfit: Unfit = as_it_should_be
