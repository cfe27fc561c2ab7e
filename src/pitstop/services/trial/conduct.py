"""A trial from its promise to its end, and the recovery of one that was killed: the same loop from another state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from pitstop.core.documents import TrialDocument
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.decisions.lease import Claimant, Phase
from pitstop.decisions.trial import Action, Do, Ending, How, Outcome, State, recovering
from pitstop.ledger.store import Ledger
from pitstop.services.lease import Held, LeaseLost, acquire
from pitstop.services.site import Site
from pitstop.services.trial.conclusion import concluded
from pitstop.services.trial.folder import TrialFolder, policy_of
from pitstop.services.trial.interrupts import Interrupts
from pitstop.services.trial.journal import Journal
from pitstop.services.trial.loop import Watcher, run_to_end
from pitstop.services.trial.perform import Hands
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.roles import Crew


@dataclass
class Stage:
    """What a trial is conducted with."""

    home: Home
    site: Site
    crew: Crew
    watcher: Watcher
    open_ledger: Callable[[], Ledger]
    steady_s: Callable[[], float]


def take_lease(stage: Stage, promise: Promise, claimant: Claimant = Claimant.WORK) -> Held:
    """The lease for this trial; it says `waiting` until production is really touched."""
    return acquire(
        stage.home,
        stage.steady_s,
        purpose=f"trial {promise.name} ({promise.id})",
        engines=(promise.engine_name,),
        claimant=claimant,
        trial=promise.id,
        phase=Phase.WAITING if claimant is Claimant.WORK else Phase.ACTIVE,
    )


async def conduct(stage: Stage, folder: TrialFolder, promise: Promise, lease: Held) -> TrialDocument:
    """Run the trial whose promise is on disk. The lease is given back only when production is proved."""
    journal = Journal(folder.path, stage.crew.clock)
    try:
        journal.keep_reserve()
    except OSError as error:
        lease.release()
        folder.abandon()
        raise UsageError(
            f"{folder.path} has no room for the trial's journal: {error.strerror or error}.",
            hint="Production was not touched. Make room there, or set PITSTOP_HOME to another disk.",
        ) from error
    return await _to_the_end(stage, folder, promise, State(promise.boots), lease, journal)


async def recover(stage: Stage, folder: TrialFolder) -> TrialDocument:
    """Put production back after a trial whose process is gone, from its promise and journal alone."""
    promise = folder.promise()
    lease = take_lease(stage, promise, Claimant.RECOVERY)
    journal = Journal(folder.path, stage.crew.clock)
    journal.note("recovery began")
    return await _to_the_end(stage, folder, promise, recovering(folder.state()), lease, journal)


async def _to_the_end(
    stage: Stage, folder: TrialFolder, promise: Promise, state: State, lease: Held, journal: Journal
) -> TrialDocument:
    interrupts = Interrupts()
    hands = Hands(promise, folder.path, stage.site, journal, stage.crew, lease.check)
    lost = "the lease was taken over by another process"
    with interrupts.listening():
        async with hands, lease.kept_alive(lambda: interrupts.interrupt(lost)):
            state = await run_to_end(
                state,
                hands=hands,
                journal=journal,
                interrupts=interrupts,
                still_ours=lease.check,
                watcher=_Phased(stage.watcher, lease, lambda: stage.crew.door.open(promise.engine_name)),
                policy=policy_of(promise.trial),
            )
        finished = concluded(folder, promise, state, stage.open_ledger)
    journal.release_reserve()
    if state.ending is not Ending.NOT_RESTORED:
        lease.release()
        stage.crew.door.open(promise.engine_name)
    return finished


@dataclass
class _Phased:
    """Passes on what happens, and lets clients and the watchdog know whether production serves.

    The lease is active from the moment in which production is touched until it is proved; verdicts can take their time.
    Whoever looks on is not worth production: a view that fails shows nothing.
    """

    watcher: Watcher
    lease: Held
    open_door: Callable[[], None]

    def action_begun(self, action: Action, state: State) -> None:
        if action.do is not Do.WAIT_IDLE and self.lease.lease.phase is Phase.WAITING:
            self.lease.renew(Phase.ACTIVE)
        with contextlib.suppress(Exception):
            self.watcher.action_begun(action, state)

    def action_ended(self, action: Action, outcome: Outcome) -> None:
        if action.do is Do.PROVE and outcome.how is How.DONE:
            # Whoever took it over does the same; and where the state folder is gone, nobody reads it.
            with contextlib.suppress(LeaseLost, UsageError):
                self.lease.renew(Phase.WAITING)
            self.open_door()
        with contextlib.suppress(Exception):
            self.watcher.action_ended(action, outcome)
