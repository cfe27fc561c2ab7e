"""Carries out the actions of a trial on the real world. Whatever the world does becomes an Outcome."""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from pitstop.core.documents import Notice
from pitstop.core.durable import write_durably
from pitstop.core.errors import EngineFailed, GuardTripped, PitstopError, Unreachable
from pitstop.core.units import format_duration
from pitstop.decisions.incidents.specifics import admission_shortfall
from pitstop.decisions.trial import Action, Do, How, Outcome
from pitstop.launch.command import CommandFailed, Failure
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.launch.memory_back import drop_page_cache, read_memory
from pitstop.launch.ready import ending, ready
from pitstop.services.lease import Held, LeaseLost
from pitstop.services.lifecycle import Owner
from pitstop.services.site import Site
from pitstop.services.trial.boot_info import BootTimes
from pitstop.services.trial.journal import Journal
from pitstop.services.trial.meddling import NotTheArm, another, meddled, void_run
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.record import PROOF, Proof, keep_run, read_run, run_file
from pitstop.services.trial.roles import Crew
from pitstop.services.undisturbed import WRONG_ENGINE

# An upgrade of the container engine's packages takes its daemon away for a minute or two, at night above all.
_DAEMON_POLL_S, _DAEMON_POLLS = 5.0, 60
_BOOT_TRIES = 3  # where the engine says that memory is missing, which may still be on its way back


class Hands:
    """Performs one action at a time for one trial."""

    def __init__(self, promise: Promise, folder: Path, site: Site, lease: Held, journal: Journal, crew: Crew) -> None:
        assert site.launcher is not None
        self._promise, self._folder, self._site = promise, folder, site
        self._launcher, self._lease, self._journal, self._crew = site.launcher, lease, journal, crew
        self._guard: contextlib.AsyncExitStack | None = None
        self._expected_bytes: int | None = 0  # to be available before the next launch; None: not known
        self._times = BootTimes("", 0.0, 0, 0)  # of the boot that runs
        self._deeds: Mapping[Do, Callable[[Action], Awaitable[Outcome]]] = {
            Do.WAIT_IDLE: self._wait_idle,
            Do.TAKE_DOWN: self._take_down,
            Do.BOOT: self._boot,
            Do.MEASURE: self._measure,
            Do.STOP: self._stop,
            Do.LOOK: self._look,
            Do.RESTORE: self._restore,
            Do.PROVE: self._prove,
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let go of the guard, which a lost lease leaves behind."""
        await self._end_guard()

    async def perform(self, action: Action) -> Outcome:
        """Do it. Only a lost lease and a cancellation get out; anything else is how the action went."""
        blames_arm = action.do in (Do.BOOT, Do.MEASURE)
        try:
            return await self._deeds[action.do](action)
        except LeaseLost:
            raise
        except CommandFailed as error:  # a container engine that is away is nobody's result
            return Outcome(How.REFUSED, str(error))
        except (Unreachable, GuardTripped) as error:
            if blames_arm:
                return Outcome(How.FAILED, await self._why_failed(action, error))
            return Outcome(How.REFUSED, str(error))
        except (PitstopError, OSError) as error:
            return Outcome(How.REFUSED, str(error))
        except Exception as error:  # noqa: BLE001 - a fault of our own must lead to the restore, not past it
            self._journal.note(traceback.format_exc())
            return Outcome(How.REFUSED, f"a defect in pitstop: {type(error).__name__}: {error}")

    async def _wait_idle(self, _action: Action) -> Outcome:
        return await self._crew.idle(self._site, self._promise)

    async def _take_down(self, _action: Action) -> Outcome:
        """Look once more: what somebody else put in production's place while we waited is not ours to replace."""
        found = await self._launcher.inspect(self._production)
        changed = "production was changed by somebody else meanwhile: it"
        if found is None:
            return Outcome(How.REFUSED, f"{changed} is down")
        if found.fingerprint != self._production.fingerprint:
            return Outcome(How.GAVE_UP, f"{changed} runs as {found.fingerprint}")
        await self._stop_engine()
        return Outcome(How.DONE)

    async def _boot(self, action: Action) -> Outcome:
        """Boot the arm; one whose own start check finds too little memory is tried again once more is back."""
        spec = self._arm_spec(action)
        for left in reversed(range(_BOOT_TRIES)):
            try:
                await self._memory_back()
            except EngineFailed as error:  # not the arm's fault, and nothing is launched into it blindly
                return Outcome(How.REFUSED, str(error))
            try:
                await self._boot_once(spec)
                break
            except EngineFailed as error:
                short = admission_shortfall(str(error))
                if not short or not left:
                    raise
                self._journal.note(f"its start check refused, {short}; it is tried again when memory is back")
                if tripped := await self._end_guard():
                    raise GuardTripped(tripped) from error
                await self._stop_engine()
        return Outcome(How.DONE)

    async def _boot_once(self, spec: LaunchSpec) -> None:
        at, before, began = self._crew.clock(), read_memory().available_bytes, time.monotonic()
        guard = await self._begin_guard(spec)
        await guard.own(await self._launcher.start(spec, self._site.environ))
        running = await self._until_ready(spec)
        if words := await another(self._site.with_spec(spec), self._production, running):
            raise EngineFailed(words)
        if words := await self._crew.unfit(self._site.with_spec(spec)):
            raise NotTheArm(words)
        self._times = BootTimes(at, time.monotonic() - began, before, read_memory().available_bytes)
        self._crew.served(spec)

    async def _measure(self, action: Action) -> Outcome:
        assert action.boot is not None
        spec = self._arm_spec(action)
        site = self._site.with_spec(spec)
        document = await self._crew.measure(site, self._promise, action.boot)
        document.conditions["boot"] = await self._crew.info(site, self._promise, self._times)
        found = await self._launcher.inspect(spec)
        if found is not None and (words := await another(site, self._production, found)):
            document.warnings.append(Notice(code=WRONG_ENGINE, text=words))
        keep_run(run_file(self._folder, action.boot, self._promise), document)
        if found is None:
            raise EngineFailed("the measurement was over, and the engine was down.")
        return Outcome(How.DONE)

    async def _stop(self, _action: Action) -> Outcome:
        tripped = await self._end_guard()
        await self._stop_engine()
        return Outcome(How.DONE, tripped)

    async def _look(self, action: Action) -> Outcome:
        assert action.boot is not None
        why = self._crew.why_stop(self._promise, action.boot.block)
        return Outcome(How.ENOUGH, why) if why else Outcome(How.DONE)

    async def _restore(self, action: Action) -> Outcome:
        """Look first: production that already runs as promised is not taken down again."""
        if action.attempt > 1:
            await self._crew.pause(min(2.0 ** (action.attempt - 1), 30.0))
        await self._end_guard()
        found = await self._found(_DAEMON_POLLS if action.attempt == 1 else 0)
        fits = found is not None and found.fingerprint == self._production.fingerprint
        if not fits or action.attempt > 1:
            await self._stop_engine()
            with contextlib.suppress(EngineFailed):  # memory that is late in coming back must not keep production down
                await self._memory_back()
            await self._launcher.start(self._production, self._site.environ)
        await self._until_ready(self._production)
        return Outcome(How.DONE)

    async def _found(self, polls: int) -> Running | None:
        """What is up, as soon as whoever launches it can tell; a daemon that is away is asked again so often."""
        for _ in range(polls):
            try:
                return await self._launcher.inspect(self._production)
            except CommandFailed as error:
                if error.failure is not Failure.DAEMON_DOWN:
                    raise
                self._crew.say(error.message)
            await self._crew.pause(_DAEMON_POLL_S)
        return await self._launcher.inspect(self._production)

    async def _prove(self, _action: Action) -> Outcome:
        found = await self._launcher.inspect(self._production)
        if found is None or found.fingerprint != self._production.fingerprint:
            what = f"it runs as {found.fingerprint}" if found else "it is down"
            return Outcome(How.REFUSED, f"production is not as it was ({self._production.fingerprint}): {what}")
        token = await self._crew.generate(self._site)
        proof = Proof(found.fingerprint, token, self._crew.clock())
        with contextlib.suppress(OSError):  # the journal's own line is the record; this one is for the reader
            write_durably(self._folder / PROOF, msgspec.json.encode(proof))
        return Outcome(How.DONE, str(proof))

    async def _stop_engine(self) -> None:
        """Stop whatever runs under the engine's name, and remember what that should give back."""
        running = await self._launcher.inspect(self._production)
        expected = await self._crew.memory.expected(self._site, running)
        await self._launcher.stop(self._production)
        if running is not None:
            self._expected_bytes = expected

    async def _memory_back(self) -> None:
        await self._crew.memory.back(self._site, self._expected_bytes, float(self._promise.trial.memory_timeout))
        if self._promise.trial.drop_caches:
            dropped = await asyncio.to_thread(drop_page_cache)
            self._journal.note(dropped or "the page cache was dropped")

    async def _why_failed(self, action: Action, error: PitstopError) -> str:
        """The guard's words where it had to kill; else what went wrong, and whose hand was in it, or how it ended."""
        if tripped := await self._end_guard():
            return tripped
        site = self._site.with_spec(self._arm_spec(action))
        is_not_it = isinstance(error, NotTheArm)
        words = error.message if is_not_it else await meddled(site, self._production, self._crew.stopped)
        if words and action.boot is not None:
            path = run_file(self._folder, action.boot, self._promise)
            keep_run(path, void_run(self._promise, action.boot, self._crew.clock(), words, read_run(path)))
        if not words and action.do is Do.MEASURE:  # that nothing answers any more tells nobody why
            words = await self._ending(site)
        return "\n".join(dict.fromkeys([str(error), words])).rstrip()

    async def _ending(self, site: Site) -> str:
        assert site.spec is not None
        try:
            return "" if await site.running() is not None else await ending(self._launcher, site.spec)
        except PitstopError:
            return ""

    async def _until_ready(self, spec: LaunchSpec) -> Running:
        return await ready(
            self._launcher,
            spec,
            self._site.adapter,
            self._site.endpoint,
            float(self._site.config.boot_timeout),
            progress=lambda waits_for, elapsed: self._crew.say(f"{format_duration(elapsed)}: {waits_for}"),
        )

    async def _begin_guard(self, spec: LaunchSpec) -> Owner:
        """It watches before the engine exists, so that the first millisecond is guarded too."""
        await self._end_guard()
        self._guard = contextlib.AsyncExitStack()
        return await self._guard.enter_async_context(self._crew.guarded(self._site.with_spec(spec), self._promise))

    async def _end_guard(self) -> str:
        """Release the guard; what it did, in words, when it had to kill."""
        guard, self._guard = self._guard, None
        if guard is None:
            return ""
        try:
            await guard.aclose()
        except GuardTripped as tripped:
            return str(tripped)
        return ""

    @property
    def _production(self) -> LaunchSpec:
        return self._promise.production

    def _arm_spec(self, action: Action) -> LaunchSpec:
        assert action.boot is not None
        return self._promise.arms[action.boot.arm].spec
