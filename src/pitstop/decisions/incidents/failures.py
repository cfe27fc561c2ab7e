"""One failure: which of its events was first, and what only followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from pitstop.decisions.incidents.events import Event
from pitstop.decisions.incidents.signatures import Role

# Between two causes in one boot. Printing one traceback everywhere takes seconds; reloading a model takes minutes.
SAME_FAILURE_S = 300.0
# NCCL's watchdog speaks ten minutes after a peer was lost, vLLM's RPC after five.
FOLLOWS_S = 3600.0
_CLEARLY_EARLIER_S = 60.0  # an unknown exception this long before a known crash was survived
_RANK = {Role.CAUSE: 0, Role.UNKNOWN: 0, Role.WAIT: 1, Role.VICTIM: 2, Role.ECHO: 3}


@dataclass
class Failure:
    """One failure: the event that was first, and all that followed from it."""

    events: list[Event] = field(default_factory=list)
    ready_before: bool = False
    ended: bool = False  # the server's process finished
    stopped_after: bool = False  # somebody asked it to end once it had failed
    sources: list[str] = field(default_factory=list)

    @property
    def root(self) -> Event:
        """What happened first: a cause before a victim, a victim before an echo, the earliest of its kind."""
        primary = [event for event in self.events if event.is_primary]
        if not primary:
            return min(self.events, key=lambda event: (_RANK[event.role], event.epoch_s or 0.0, event.number))
        first = min(primary, key=_when)
        known = [event for event in primary if event.role is Role.CAUSE]
        if first.role is Role.UNKNOWN and known:
            best = min(known, key=_when)
            return best if _outranks(best, first) else first
        return first

    @property
    def last(self) -> Event:
        return max(self.events, key=_when)


def apart(before: Event, now: Event, seconds: float) -> bool:
    """Whether two events are known to be further apart."""
    if before.epoch_s is None or now.epoch_s is None:
        return False
    return abs(now.epoch_s - before.epoch_s) > seconds


def _outranks(known: Event, unknown: Event) -> bool:
    """Whether a known crash counts although something unknown came earlier: then that was survived, or is a shadow."""
    severity = known.signature.severity if known.signature else ""
    if severity == "hang" or known.epoch_s is None or unknown.epoch_s is None:
        return False
    return known.epoch_s - unknown.epoch_s > _CLEARLY_EARLIER_S


def _when(event: Event) -> tuple[float, int]:
    return (event.epoch_s if event.epoch_s is not None else 0.0, event.number)
