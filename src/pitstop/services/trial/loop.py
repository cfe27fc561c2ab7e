"""The loop of a trial: ask what to do, write it down, do it, write down how it went."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Protocol

from pitstop.decisions.trial import Action, Do, How, Outcome, Policy, State, advance, begun, decide
from pitstop.services.trial.interrupts import Interrupts
from pitstop.services.trial.journal import Journal

_INTERRUPTIBLE = (Do.WAIT_IDLE, Do.BOOT, Do.MEASURE)
_TOWARDS_PRODUCTION = (Do.STOP, Do.RESTORE, Do.PROVE)


class Hands(Protocol):
    """Whoever carries out the actions. Never raises for what the world does; that is an Outcome."""

    async def perform(self, action: Action) -> Outcome: ...


class Watcher(Protocol):
    """Whoever looks on: the live view, the log."""

    def action_begun(self, action: Action, state: State) -> None: ...

    def action_ended(self, action: Action, outcome: Outcome) -> None: ...


async def run_to_end(
    state: State,
    *,
    hands: Hands,
    journal: Journal,
    interrupts: Interrupts,
    still_ours: Callable[[], None],
    watcher: Watcher,
    policy: Policy,
) -> State:
    """Carry a trial from `state` to its end. `still_ours` raises LeaseLost when another process took over."""
    while (action := decide(state)).do is not Do.FINISH:
        still_ours()
        refused = _write_down(journal, action)
        if refused and action.do not in _TOWARDS_PRODUCTION:
            state = advance(state, action, refused, policy)
            continue
        state = begun(state, action)
        watcher.action_begun(action, state)
        outcome = await _carry_out(action, hands, interrupts)
        with contextlib.suppress(Exception):  # what cannot be written down is no reason to leave production down
            journal.end(outcome)
        watcher.action_ended(action, outcome)
        state = advance(state, action, outcome, policy)
    return state


async def _carry_out(action: Action, hands: Hands, interrupts: Interrupts) -> Outcome:
    if action.do in _INTERRUPTIBLE:
        return await interrupts.interruptible(hands.perform(action))
    return await hands.perform(action)


def _write_down(journal: Journal, action: Action) -> Outcome | None:
    """None when the action stands in the journal; otherwise why the trial must not go on."""
    if action.do in _TOWARDS_PRODUCTION:
        journal.release_reserve()
    try:
        journal.begin(action)
    except OSError as error:
        return Outcome(How.REFUSED, f"the journal cannot be written: {error.strerror or error}")
    except Exception as error:  # noqa: BLE001 - a fault of our own must lead to the restore, not past it
        return Outcome(How.REFUSED, f"a defect in pitstop: the journal cannot be written: {error!r}")
    return None
