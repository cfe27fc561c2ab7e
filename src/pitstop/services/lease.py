"""The lease as a file: `$PITSTOP_HOME/lease.json`, changed only under a lock on the file beside it.

The holder renews it from its loop. Who lost it (a recovery took over while this process was stopped) finds out before
its next action, because `Held.check` reads the file again.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import msgspec

from pitstop.core.durable import is_full, remove_durably, write_durably_without_room
from pitstop.core.errors import Interrupted, LeaseHeld, UsageError
from pitstop.core.home import Home
from pitstop.core.process_id import is_alive, own_id
from pitstop.core.units import format_duration
from pitstop.decisions.lease import Claimant, Lease, Phase, Standing, may_take, standing
from pitstop.services.trial.folder import TrialFolder

LIFETIME_S = 60.0  # four missed renewals; a garbage collection or a slow disk costs one
RENEWAL_S = 15.0

Clock = Callable[[], float]  # steady seconds, alike in every process of this boot: time.monotonic


class LeaseLost(Interrupted):
    """Another process took the lease over; this one must not touch an engine any more."""


def read_lease(home: Home) -> Lease | None:
    """The lease as it stands in the file; a torn or foreign file counts as no lease. UsageError when it is not ours."""
    try:
        return msgspec.json.decode(home.lease.read_bytes(), type=Lease)
    except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise _unusable(home, error) from error


def lease_standing(home: Home, now_s: float) -> tuple[Lease | None, Standing]:
    """The lease, and what it is worth now."""
    lease = read_lease(home)
    if lease is None:
        return None, Standing.FREE
    owes = bool(lease.trial) and TrialFolder(home.trials / lease.trial).owes_restore()
    return lease, standing(lease, holder_alive=is_alive(lease.holder), owes_restore=owes, now_s=now_s)


@dataclass
class Held:
    """A lease in hand."""

    home: Home
    lease: Lease
    clock: Clock

    def check(self) -> None:
        """Raise LeaseLost unless the lease is still ours; called before every action on an engine.

        A file that somebody deleted, perhaps with the whole state folder, was taken over by nobody: who would put
        production back, if its holder stopped here? Only a trial that a recovery has brought to its end is lost.
        """
        now = self._readable()
        if now.token != self.lease.token if now else self._is_settled():
            raise LeaseLost("The lease was taken over by another process; this one touches nothing any more.")

    def renew(self, phase: Phase | None = None) -> None:
        """Push the expiry ahead, and change the phase; LeaseLost when it is no longer ours."""
        with _locked(self.home):
            self.check()
            expires = self.clock() + LIFETIME_S
            self.lease = msgspec.structs.replace(self.lease, expires_at_s=expires, phase=phase or self.lease.phase)
            # A full disk must not cost the lease: its holder is alive, which is what everybody else looks at.
            with contextlib.suppress(UsageError):
                _write(self.home, self.lease)

    def release(self) -> None:
        """Give it back, if it is still ours and its place is still there; it is left over once this process ends."""
        with contextlib.suppress(LeaseLost, UsageError, OSError), _locked(self.home):
            self.check()
            remove_durably(self.home.lease)

    def _readable(self) -> Lease | None:
        """What stands in the file; a disk that does not let it be read has taken the lease from nobody."""
        with contextlib.suppress(UsageError):
            return read_lease(self.home)
        return None

    def _is_settled(self) -> bool:
        with contextlib.suppress(OSError):
            return not self.lease.trial or TrialFolder(self.home.trials / self.lease.trial).is_settled()
        return False

    @contextlib.asynccontextmanager
    async def kept_alive(self, on_lost: Callable[[], None]) -> AsyncIterator[None]:
        """Renew in the background; `on_lost` is called once if somebody took it over."""
        task = asyncio.create_task(self._keep_alive(on_lost))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _keep_alive(self, on_lost: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(RENEWAL_S)
            try:
                self.renew()
            except LeaseLost:
                on_lost()
                return
            except (UsageError, OSError):  # a disk that does not answer now may do so in the next quarter of a minute
                continue


def acquire(
    home: Home,
    clock: Clock,
    *,
    purpose: str,
    engines: tuple[str, ...],
    claimant: Claimant = Claimant.WORK,
    trial: str = "",
    phase: Phase = Phase.ACTIVE,
) -> Held:
    """Take the lease; LeaseHeld says by whom it is held and what to do."""
    with _locked(home):
        current, standing_now = lease_standing(home, clock())
        if not may_take(standing_now, claimant):
            assert current is not None
            raise _held(current, standing_now, clock())
        lease = Lease(
            token=secrets.token_hex(8),
            purpose=purpose,
            holder=own_id(),
            engines=engines,
            acquired_at_s=clock(),
            expires_at_s=clock() + LIFETIME_S,
            phase=phase,
            trial=trial,
        )
        _write(home, lease)
    return Held(home, lease, clock)


def _held(lease: Lease, standing_now: Standing, now_s: float) -> LeaseHeld:
    if standing_now is Standing.ABANDONED:
        return LeaseHeld(
            f"The {lease.purpose} ended without putting production back.",
            hint="Run `pitstop trial recover` first; it finishes the restore.",
        )
    since = format_duration(max(0.0, now_s - lease.acquired_at_s))
    return LeaseHeld(
        f"The lease is held by the {lease.purpose} (process {lease.holder.pid}, since {since}).",
        hint="Wait for it, or stop it with Ctrl-C: it puts production back first. See `pitstop trial status`.",
    )


def _write(home: Home, lease: Lease) -> None:
    try:
        write_durably_without_room(home.lease, msgspec.json.encode(lease))
    except OSError as error:
        raise _unusable(home, error) from error


def _unusable(home: Home, error: OSError) -> UsageError:
    hint = "Make room there, then try again." if is_full(error) else "Make the state folder yours, then try again."
    return UsageError(f"the lease {home.lease} cannot be used: {error.strerror or error}.", hint=hint)


@contextlib.contextmanager
def _locked(home: Home) -> Iterator[None]:
    try:
        descriptor = os.open(home.root / "lease.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unusable(home, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
