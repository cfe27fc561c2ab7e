"""What a trial does next, and what follows from how it went.

The loop around it is three lines: ask `decide` for the action, do it, tell `advance` the outcome. Both are written to
the journal, so that a trial that was killed anywhere is the same value again: `replay` folds the journal, and an
action without an outcome counts as interrupted.

    waiting ──idle──> down ──> boot -> measure -> stop ──(next boot)──> … ──> restore -> prove ──> finished
                                  (after a block at which the plan looks: look, and then boot or restore)
       │                          │        │        │                           │  ^
       └─ gave up: nothing was    └────────┴────────┴── interrupted, lost ──────┘  └─ refused: again, up to a limit
          touched                                                                     then: not restored
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Do(StrEnum):
    """The effects that a trial can have on the world."""

    WAIT_IDLE = "wait-idle"  # touches nothing
    TAKE_DOWN = "take-down"  # stops production
    BOOT = "boot"  # starts one arm and waits until it is ready
    MEASURE = "measure"
    STOP = "stop"  # stops whatever of the trial may be up
    LOOK = "look"  # touches nothing: is it decided already, or futile?
    RESTORE = "restore"  # starts production as it was, and waits until it is ready
    PROVE = "prove"  # same fingerprint, and one token really generated
    FINISH = "finish"  # verdicts, ledger, lease


class How(StrEnum):
    """How an action went."""

    DONE = "done"
    GAVE_UP = "gave-up"  # waiting took too long, or production is no longer what was promised; nothing was touched
    ENOUGH = "enough"  # more boots would change nothing
    FAILED = "failed"  # the arm's own fault: did not boot, crashed, was stopped by the guard
    REFUSED = "refused"  # the world said no: an engine that would not stop, a daemon that is away
    INTERRUPTED = "interrupted"  # a signal, a lost lease, or the end of the process


@dataclass(frozen=True)
class Boot:
    """One slot of the plan: which arm is booted, in which block. Arm 0 is production's own settings."""

    block: int
    arm: int


@dataclass(frozen=True)
class Action:
    do: Do
    boot: Boot | None = None
    attempt: int = 1
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    how: How
    reason: str = ""


@dataclass(frozen=True)
class Policy:
    restore_attempts: int = 5
    stop_attempts: int = 3
    looks: tuple[int, ...] = ()  # after so many whole blocks; planned before the first


class Ending(StrEnum):
    """How the whole trial ended; the state of its document."""

    RUNNING = "running"
    FINISHED = "finished"
    GAVE_UP = "gave-up"
    INTERRUPTED = "interrupted"
    FAILED = "failed"  # something of the world refused; production is back all the same
    NOT_RESTORED = "not-restored"


@dataclass(frozen=True)
class State:
    """Where a trial stands. `touched` turns true before production can have been changed, and stays so.

    Unless the take-down itself says that it left production alone.
    """

    boots: tuple[Boot, ...]
    next: Do = Do.WAIT_IDLE
    position: int = 0  # in `boots`
    attempt: int = 1
    touched: bool = False
    restored: bool = False
    ending: Ending = Ending.RUNNING
    reason: str = ""

    @property
    def boot(self) -> Boot | None:
        return self.boots[self.position] if self.position < len(self.boots) else None


def schedule(arms: int, blocks: int) -> tuple[Boot, ...]:
    """Mirrored order: ABC CBA ABC…, so that whatever drifts with time falls on all arms alike."""
    order = [list(range(arms)), list(reversed(range(arms)))]
    return tuple(Boot(block, arm) for block in range(blocks) for arm in order[block % 2])


def decide(state: State) -> Action:
    """The next action of a trial in `state`. A look names the boot that would follow."""
    boot = state.boot if state.next in (Do.BOOT, Do.MEASURE, Do.STOP, Do.LOOK) else None
    return Action(state.next, boot, state.attempt, state.reason)


def advance(state: State, action: Action, outcome: Outcome, policy: Policy) -> State:
    """The state after `action` went as `outcome` says. Total: every outcome of every action leads somewhere."""
    follow = _FOLLOW[action.do]
    return follow(state, action, outcome, policy)


def begun(state: State, action: Action) -> State:
    """The state as soon as `action` has begun: from here on production may be changed, whatever comes back."""
    return replace(state, touched=state.touched or action.do not in (Do.WAIT_IDLE, Do.FINISH))


def replay(boots: tuple[Boot, ...], journal: Iterable[tuple[Action, Outcome | None]], policy: Policy) -> State:
    """The state that a journal tells; its last action may lack an outcome, and then was interrupted."""
    state = State(boots)
    for action, outcome in journal:
        ended = outcome or Outcome(How.INTERRUPTED, "the process ended in the middle of this step")
        state = advance(begun(state, action), action, ended, policy)
    return state


def recovering(state: State) -> State:
    """The same trial for somebody who only wants production back: stop what may be up, then restore.

    A restore that was on its first attempt is begun anew without that: nothing but production can be up any more, and
    it looks first. (A take-down, and later attempts, may have told it to end.)
    """
    if state.ending is Ending.RUNNING or state.ending is Ending.NOT_RESTORED:
        ending, reason = Ending.INTERRUPTED, state.reason or "recovered after the trial's process had gone"
    else:
        ending, reason = state.ending, state.reason
    if not state.touched or state.restored:
        return replace(state, next=Do.FINISH, ending=ending, reason=reason)
    first_attempt = (state.next, state.attempt) in ((Do.PROVE, 1), (Do.RESTORE, 2))  # the second has not begun
    then = Do.RESTORE if first_attempt else Do.STOP
    return replace(state, next=then, attempt=1, ending=ending, reason=reason)


def _after_waiting(state: State, _action: Action, outcome: Outcome, _policy: Policy) -> State:
    if outcome.how is How.DONE:
        return replace(state, next=Do.TAKE_DOWN)
    endings = {How.GAVE_UP: Ending.GAVE_UP, How.INTERRUPTED: Ending.INTERRUPTED}
    return replace(state, next=Do.FINISH, ending=endings.get(outcome.how, Ending.FAILED), reason=outcome.reason)


def _after_take_down(state: State, _action: Action, outcome: Outcome, _policy: Policy) -> State:
    if outcome.how is How.DONE:
        return replace(state, next=Do.BOOT if state.boots else Do.RESTORE)
    if outcome.how is How.GAVE_UP:  # what runs there now is somebody else's doing, and was not touched
        return replace(_ended(state, outcome, Do.FINISH), touched=False)
    return _ended(state, outcome, Do.RESTORE)


def _after_boot(state: State, _action: Action, outcome: Outcome, _policy: Policy) -> State:
    if outcome.how is How.DONE:
        return replace(state, next=Do.MEASURE)
    if outcome.how is How.FAILED:
        return replace(state, next=Do.STOP, attempt=1)
    return _ended(state, outcome, Do.STOP)


def _after_measuring(state: State, _action: Action, outcome: Outcome, _policy: Policy) -> State:
    if outcome.how in (How.DONE, How.FAILED):
        return replace(state, next=Do.STOP, attempt=1)
    return _ended(state, outcome, Do.STOP)


def _after_stop(state: State, action: Action, outcome: Outcome, policy: Policy) -> State:
    if outcome.how is not How.DONE and action.attempt < policy.stop_attempts:
        return replace(state, next=Do.STOP, attempt=action.attempt + 1)
    if outcome.how is not How.DONE:
        return _ended(state, outcome, Do.RESTORE)
    state = replace(state, attempt=1, position=min(state.position + 1, len(state.boots)))
    if state.ending is not Ending.RUNNING or state.boot is None:
        return replace(state, next=Do.RESTORE)
    whole_block = state.boot.block != state.boots[state.position - 1].block
    return replace(state, next=Do.LOOK if whole_block and state.boot.block in policy.looks else Do.BOOT)


def _after_look(state: State, _action: Action, outcome: Outcome, _policy: Policy) -> State:
    if outcome.how is How.ENOUGH:
        return replace(state, next=Do.RESTORE, reason=outcome.reason)
    if outcome.how is How.INTERRUPTED:
        return _ended(state, outcome, Do.RESTORE)
    return replace(state, next=Do.BOOT)  # a look that fails decides nothing


def _after_restore(state: State, action: Action, outcome: Outcome, policy: Policy) -> State:
    if outcome.how is How.DONE:
        return replace(state, next=Do.PROVE)
    return _again_or_not_restored(state, action, outcome, policy)


def _after_proving(state: State, action: Action, outcome: Outcome, policy: Policy) -> State:
    if outcome.how is not How.DONE:
        return _again_or_not_restored(state, action, outcome, policy)
    ending = Ending.FINISHED if state.ending is Ending.RUNNING else state.ending
    return replace(state, next=Do.FINISH, restored=True, ending=ending)


def _after_finish(state: State, _action: Action, _outcome: Outcome, _policy: Policy) -> State:
    return state


def _again_or_not_restored(state: State, action: Action, outcome: Outcome, policy: Policy) -> State:
    if action.attempt < policy.restore_attempts:
        return replace(state, next=Do.RESTORE, attempt=action.attempt + 1)
    return replace(state, next=Do.FINISH, ending=Ending.NOT_RESTORED, reason=outcome.reason)


def _ended(state: State, outcome: Outcome, then: Do) -> State:
    """The trial is over, for the first reason that came; what is left is to put production back."""
    ending = Ending.INTERRUPTED if outcome.how is How.INTERRUPTED else Ending.FAILED
    if state.ending is not Ending.RUNNING:
        ending = state.ending
    return replace(state, next=then, attempt=1, ending=ending, reason=state.reason or outcome.reason)


_FOLLOW = {
    Do.WAIT_IDLE: _after_waiting,
    Do.TAKE_DOWN: _after_take_down,
    Do.BOOT: _after_boot,
    Do.MEASURE: _after_measuring,
    Do.STOP: _after_stop,
    Do.LOOK: _after_look,
    Do.RESTORE: _after_restore,
    Do.PROVE: _after_proving,
    Do.FINISH: _after_finish,
}
