"""Who may start and stop an engine now."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from pitstop.core.process_id import ProcessId


class Phase(StrEnum):
    WAITING = "waiting"  # production serves (not touched yet, or proved again), and the watchdog goes on watching
    ACTIVE = "active"  # production may be down


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The one lease of a box. `trial` names the work that may owe a restore; empty for `up`, `down` and the like."""

    token: str
    purpose: str
    holder: ProcessId
    engines: tuple[str, ...]
    # Seconds of the steady clock (CLOCK_MONOTONIC): a wall clock that is set ahead must not take a live trial's lease,
    # nor must a night in which the box slept. Of use only while the holder lives, so never across a reboot.
    acquired_at_s: float
    expires_at_s: float
    phase: Phase = Phase.ACTIVE
    trial: str = ""


class Standing(StrEnum):
    FREE = "free"
    HELD = "held"  # by a process that lives and renews it
    STALLED = "stalled"  # its process lives but has not renewed it: wedged or stopped
    ABANDONED = "abandoned"  # its process is gone, and owes a restore
    LEFT_OVER = "left-over"  # its process is gone, and owes nothing


class Claimant(StrEnum):
    WORK = "work"  # up, down, a new trial
    RECOVERY = "recovery"  # only wants production back


def standing(lease: Lease | None, *, holder_alive: bool, owes_restore: bool, now_s: float) -> Standing:
    """What a lease is worth now. `holder_alive` is about that very process, not about its pid.

    `owes_restore`: its trial touched production and has not proved it back.
    """
    if lease is None:
        return Standing.FREE
    if holder_alive:
        return Standing.HELD if now_s < lease.expires_at_s else Standing.STALLED
    return Standing.ABANDONED if owes_restore else Standing.LEFT_OVER


def may_take(standing_now: Standing, claimant: Claimant) -> bool:
    """Recovery may also take what a gone or stalled trial left; other work only what nobody is owed."""
    if standing_now in (Standing.FREE, Standing.LEFT_OVER):
        return True
    return claimant is Claimant.RECOVERY and standing_now in (Standing.ABANDONED, Standing.STALLED)


def watchdog_stands_down(lease: Lease | None, standing_now: Standing, engine: str) -> bool:
    """Whether a silent engine is somebody's doing: then no strike is counted and nothing is restarted."""
    return (
        lease is not None
        and engine in lease.engines
        and lease.phase is Phase.ACTIVE
        and standing_now in (Standing.HELD, Standing.STALLED, Standing.ABANDONED)
    )
