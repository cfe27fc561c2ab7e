"""Carries out the actions of a trial on the real world. Whatever the world does becomes an Outcome."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Self

from pitstop.core.documents import Notice, RunDocument
from pitstop.core.durable import write_durably
from pitstop.core.encoding import encoded
from pitstop.core.errors import EngineFailed, GuardTripped, PitstopError, Unreachable
from pitstop.decisions.trial import Action, Boot, Do, How, Outcome
from pitstop.launch.command import CommandFailed
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.services.lease import LeaseLost
from pitstop.services.site import Site
from pitstop.services.trial.journal import Journal
from pitstop.services.trial.meddling import NotTheArm, another, meddled, void_run
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.record import PROOF, Proof, keep_run, read_run, run_file
from pitstop.services.trial.roles import Crew
from pitstop.services.trial.slot import Slot
from pitstop.services.undisturbed import WRONG_ENGINE


class Hands:
    """Performs one action at a time for one trial."""

    def __init__(
        self,
        promise: Promise,
        folder: Path,
        site: Site,
        journal: Journal,
        crew: Crew,
        still_ours: Callable[[], None] = lambda: None,
    ) -> None:
        self._promise, self._folder, self._site = promise, folder, site
        self._journal, self._crew = journal, crew
        self._slot = Slot(promise, site, journal, crew, still_ours)
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
        await self._slot.end_guard()

    async def perform(self, action: Action) -> Outcome:
        """Do it. Only a lost lease and a cancellation get out; anything else is how the action went."""
        try:
            return await self._done(action)
        except LeaseLost:
            raise
        except (PitstopError, OSError) as error:
            return Outcome(How.REFUSED, str(error))
        except Exception as error:  # noqa: BLE001 - a fault of our own must lead to the restore, not past it
            self._journal.note(traceback.format_exc())
            return Outcome(How.REFUSED, f"a defect in pitstop: {type(error).__name__}: {error}")

    async def _done(self, action: Action) -> Outcome:
        """Do it, and find out why an arm failed; whatever is raised here is not the arm's result."""
        try:
            return await self._deeds[action.do](action)
        except CommandFailed:  # a container engine that is away is nobody's result
            raise
        except (Unreachable, GuardTripped) as error:
            if action.do not in (Do.BOOT, Do.MEASURE):
                raise
            return Outcome(How.FAILED, await self._why_failed(action, error))

    async def _wait_idle(self, _action: Action) -> Outcome:
        return await self._crew.idle(self._site, self._promise)

    async def _take_down(self, _action: Action) -> Outcome:
        """Look once more: what somebody else put in production's place while we waited is not ours to replace."""
        found = await self._slot.found(self._production)
        changed = "production was changed by somebody else meanwhile: it"
        if found is None:
            return Outcome(How.REFUSED, f"{changed} is down")
        if not self._is_production(found):
            return Outcome(How.GAVE_UP, f"{changed} runs as {found.fingerprint}")
        await self._slot.take_down()
        return Outcome(How.DONE)

    async def _boot(self, action: Action) -> Outcome:
        await self._slot.boot(self._arm_spec(action))
        return Outcome(How.DONE)

    async def _measure(self, action: Action) -> Outcome:
        spec, boot = self._arm_spec(action), _boot_of(action)
        site = self._site.with_spec(spec)
        document = await self._crew.measure(site, self._promise, boot)
        await self._add_info(document, site)
        found = await self._slot.found(spec)
        if found is not None and (words := await another(site, self._production, found)):
            document.warnings.append(Notice(code=WRONG_ENGINE, text=words))
        keep_run(run_file(self._folder, boot, self._promise), document)
        if found is None:
            raise EngineFailed("the measurement was over, and the engine was down.")
        return Outcome(How.DONE)

    async def _add_info(self, document: RunDocument, site: Site) -> None:
        """What is kept of the boot beside its figures; what cannot be told of it costs none of them."""
        try:
            document.conditions["boot"] = await self._crew.info(site, self._promise, self._slot.times)
        except Exception as error:  # noqa: BLE001 - logs, counters and kernels say anything
            document.conditions["boot"] = {}
            document.warnings.append(Notice(code="boot-info", text=f"Nothing is known of this boot: {error}"))

    async def _stop(self, _action: Action) -> Outcome:
        tripped = await self._slot.end_guard()
        await self._slot.stop()
        return Outcome(How.DONE, tripped)

    async def _look(self, action: Action) -> Outcome:
        why = self._crew.why_stop(self._promise, _boot_of(action).block)
        return Outcome(How.ENOUGH, why) if why else Outcome(How.DONE)

    async def _restore(self, action: Action) -> Outcome:
        """Look first: production that already runs as promised is not taken down again."""
        again = action.attempt > 1
        if again:
            await self._crew.pause(min(2.0 ** (action.attempt - 1), 30.0))
        await self._slot.end_guard()
        found = await self._slot.found_in_time()
        if again or found is None or not self._is_production(found):
            await self._slot.put_back()
        await self._slot.until_ready(self._production)
        return Outcome(How.DONE)

    async def _prove(self, _action: Action) -> Outcome:
        found = await self._slot.found(self._production)
        if found is None or not self._is_production(found):
            what = f"it runs as {found.fingerprint}" if found else "it is down"
            return Outcome(How.REFUSED, f"production is not as it was ({self._production.fingerprint}): {what}")
        token = await self._crew.generate(self._site)
        proof = Proof(found.fingerprint, token, self._crew.clock())
        with contextlib.suppress(OSError):  # the journal's own line is the record; this one is for the reader
            write_durably(self._folder / PROOF, encoded(proof))
        await self._slot.proved()
        return Outcome(How.DONE, str(proof))

    async def _why_failed(self, action: Action, error: PitstopError) -> str:
        """The guard's words where it had to kill; else what went wrong, and whose hand was in it, or how it ended."""
        if tripped := await self._slot.end_guard():
            return tripped
        spec, boot = self._arm_spec(action), _boot_of(action)
        site, is_not_it = self._site.with_spec(spec), isinstance(error, NotTheArm)
        words = error.message if is_not_it else await meddled(site, self._production, self._crew.stopped)
        if words:
            path = run_file(self._folder, boot, self._promise)
            keep_run(path, void_run(self._promise, boot, self._crew.clock(), words, read_run(path)))
        elif action.do is Do.MEASURE:  # that nothing answers any more tells nobody why
            words = await self._slot.ending(spec)
        return "\n".join(dict.fromkeys([str(error), words])).rstrip()

    @property
    def _production(self) -> LaunchSpec:
        return self._promise.production

    def _is_production(self, found: Running) -> bool:
        return found.fingerprint == self._production.fingerprint

    def _arm_spec(self, action: Action) -> LaunchSpec:
        return self._promise.arms[_boot_of(action).arm].spec


def _boot_of(action: Action) -> Boot:
    """Of an action that belongs to one."""
    assert action.boot is not None
    return action.boot
