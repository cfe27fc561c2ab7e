"""Where one engine runs at a time, production or an arm: launched, awaited, watched by the guard, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from pitstop.core.errors import EngineFailed, GuardTripped, PitstopError
from pitstop.core.units import format_duration
from pitstop.decisions.incidents.specifics import admission_shortfall
from pitstop.launch.command import CommandFailed, Failure
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.launch.memory_back import drop_page_cache, read_memory
from pitstop.launch.ready import ending, ready
from pitstop.services.lifecycle import Owner
from pitstop.services.site import Site
from pitstop.services.trial.boot_info import BootTimes
from pitstop.services.trial.journal import Journal
from pitstop.services.trial.meddling import NotTheArm, another
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.roles import Crew

# An upgrade of the container engine's packages takes its daemon away for a minute or two, at night above all.
_DAEMON_POLL_S, _DAEMON_POLLS = 5.0, 60
_BOOT_TRIES = 3  # where the engine says that memory is missing, which may still be on its way back


class MemoryMissing(PitstopError):
    """What the engine before held did not come back in time: no arm's fault, and nothing is launched into it."""


class Slot:
    """Holds the guard of what runs in it until `end_guard`, which whoever owns the slot calls on every way out.

    `still_ours` raises LeaseLost when another process took over. It is asked right before an engine is started or
    stopped: this process may have been stopped itself for longer than its lease, in the middle of a step.
    """

    def __init__(
        self, promise: Promise, site: Site, journal: Journal, crew: Crew, still_ours: Callable[[], None]
    ) -> None:
        assert site.launcher is not None
        self._still_ours = still_ours
        self._polls_left = _DAEMON_POLLS
        self._promise, self._site, self._journal, self._crew = promise, site, journal, crew
        self._launcher = site.launcher
        self._guard: contextlib.AsyncExitStack | None = None
        self._expected_bytes: int | None = 0  # to be available before the next launch; None: not known
        self.times = BootTimes("", 0.0, 0, 0)  # of the boot that runs

    async def found(self, spec: LaunchSpec) -> Running | None:
        """What runs as `spec`'s engine, whoever launched it."""
        return await self._launcher.inspect(spec)

    async def found_in_time(self) -> Running | None:
        """What runs, as soon as whoever launches it can tell.

        A daemon that is away is asked again for five minutes in all, whenever it goes: a boot takes minutes too.
        """
        while self._polls_left > 0:
            try:
                return await self.found(self._promise.production)
            except CommandFailed as error:
                if error.failure is not Failure.DAEMON_DOWN:
                    raise
                self._crew.say(error.message)
            self._polls_left -= 1
            await self._crew.pause(_DAEMON_POLL_S)
        return await self.found(self._promise.production)

    async def boot(self, spec: LaunchSpec) -> None:
        """Boot an arm; one whose own start check finds too little memory is tried again once more is back.

        MemoryMissing when nothing was launched; EngineFailed, GuardTripped or NotTheArm for what came up.
        """
        for _ in range(_BOOT_TRIES - 1):
            try:
                await self._boot_once(spec)
                break
            except EngineFailed as error:
                short = admission_shortfall(str(error))
                if not short:
                    raise
                self._journal.note(f"its start check refused, {short}; it is tried again when memory is back")
                if tripped := await self.end_guard():
                    raise GuardTripped(tripped) from error
                await self.stop()
        else:
            await self._boot_once(spec)

    async def _boot_once(self, spec: LaunchSpec) -> None:
        try:
            await self._memory_back()
        except EngineFailed as error:
            raise MemoryMissing(error.message, hint=error.hint) from error
        at, before, began = self._crew.clock(), read_memory().available_bytes, time.monotonic()
        guard = await self._begin_guard(spec)
        self._still_ours()
        await guard.own(await self._launcher.start(spec, self._site.environ))
        running = await self.until_ready(spec)
        site = self._site.with_spec(spec)
        if words := await another(site, self._promise.production, running):
            raise EngineFailed(words)
        if words := await self._crew.unfit(site):
            raise NotTheArm(words)
        self.times = BootTimes(at, time.monotonic() - began, before, read_memory().available_bytes)
        self._crew.served(spec)

    async def put_back(self) -> None:
        """Production instead of whatever is there; memory that is late in coming back must not keep it down."""
        await self.stop()
        try:
            await self._memory_back()
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in looking at memory, production is started
            self._journal.note(f"production is started without waiting for memory: {error}")
        self._still_ours()
        await self._launcher.start(self._promise.production, self._site.environ)

    async def take_down(self) -> None:
        """Stop production, whose image is kept from being cleaned away until it is proved to be back."""
        if problem := await self._crew.images.keep(self._site, self._promise):
            self._journal.note(problem)
        await self.stop()

    async def proved(self) -> None:
        """Production is back for good."""
        try:
            problem = await self._crew.images.let_go(self._site, self._promise)
        except Exception as error:  # noqa: BLE001 - what is tidied up afterwards is not worth another restart
            problem = f"images are still kept: {error!r}"
        if problem:
            self._journal.note(problem)

    async def stop(self) -> None:
        """Stop whatever runs under the engine's name, and remember what that should give back."""
        running = await self.found(self._promise.production)
        expected = await self._expected(running)
        self._still_ours()
        await self._launcher.stop(self._promise.production)
        if running is not None:
            self._expected_bytes = expected

    async def _expected(self, running: Running | None) -> int | None:
        """What its end should give back; an engine is stopped whether that is known or not."""
        try:
            return await self._crew.memory.expected(self._site, running)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in looking at memory
            self._journal.note(f"what the engine holds is not known: {error}")
            return None

    async def until_ready(self, spec: LaunchSpec) -> Running:
        return await ready(
            self._launcher,
            spec,
            self._site.adapter,
            self._site.endpoint,
            float(self._site.config.boot_timeout),
            progress=lambda waits_for, elapsed: self._crew.say(f"{format_duration(elapsed)}: {waits_for}"),
        )

    async def ending(self, spec: LaunchSpec) -> str:
        """How it ended, from its log; "" while it is up or where that cannot be told."""
        try:
            return "" if await self.found(spec) is not None else await ending(self._launcher, spec)
        except PitstopError:
            return ""

    async def end_guard(self) -> str:
        """Release the guard; what it did, in words, when it had to kill."""
        guard, self._guard = self._guard, None
        if guard is None:
            return ""
        try:
            await guard.aclose()
        except GuardTripped as tripped:
            return str(tripped)
        return ""

    async def _begin_guard(self, spec: LaunchSpec) -> Owner:
        """It watches before the engine exists, so that the first millisecond is guarded too."""
        await self.end_guard()
        self._guard = contextlib.AsyncExitStack()
        return await self._guard.enter_async_context(self._crew.guarded(self._site.with_spec(spec), self._promise))

    async def _memory_back(self) -> None:
        await self._crew.memory.back(self._site, self._expected_bytes, float(self._promise.trial.memory_timeout))
        if self._promise.trial.drop_caches:
            dropped = await asyncio.to_thread(drop_page_cache)
            self._journal.note(dropped or "the page cache was dropped")
