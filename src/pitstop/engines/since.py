"""What happened between two readings of a server's counters, and whether it was the same process."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from pitstop.engines.adapter import Counters

_GAUGES = frozenset({"requests_running", "requests_waiting", "kv_cache_usage", "process_start_s"})
_COUNTS = tuple(f.name for f in fields(Counters) if f.name not in _GAUGES and f.name != "accepted_per_position")
_SAME_START_S = 1.0  # a start time is read from the kernel's clock ticks; it does not move by a second


def reset_between(before: Counters | None, after: Counters | None) -> str:
    """Why the two readings are not of one process, or "" when nothing shows that."""
    if before is None or after is None:
        return ""
    started, restarted = before.process_start_s, after.process_start_s
    if started is not None and restarted is not None and abs(restarted - started) > _SAME_START_S:
        return f"its start time moved by {restarted - started:.0f} s: the engine was restarted meanwhile"
    for name in _COUNTS:
        was, now = getattr(before, name), getattr(after, name)
        if was is not None and now is not None and now < was:
            return f"the counter {name} went down from {was} to {now}: the engine was restarted meanwhile"
    return ""


def since(before: Counters | None, after: Counters | None) -> Counters:
    """Counts of `after` minus `before`, gauges of `after`.

    A count that either reading lacks is None; so is every count when the engine was restarted in between, since nothing
    is known of what it did before it died (`reset_between` says so).
    """
    if before is None or after is None:
        return Counters()
    gauges = Counters(**{name: getattr(after, name) for name in _GAUGES})
    if reset_between(before, after):
        return gauges
    deltas = {name: _minus(getattr(after, name), getattr(before, name)) for name in _COUNTS}
    return replace(gauges, **deltas, accepted_per_position=_per_position(before, after))


@dataclass(frozen=True)
class OwnTraffic:
    """What one's own requests were, by the client's account; None when a reply did not say."""

    requests: int
    prompt_tokens: int | None = None
    generation_tokens: int | None = None
    perhaps: int = 0  # of the requests: cut off on their way, so that the server may have counted them or not


@dataclass(frozen=True)
class ForeignTraffic:
    """What others did on a server meanwhile. None: this server does not say."""

    requests: int | None = None
    prompt_tokens: int | None = None
    generation_tokens: int | None = None
    running_before: int | None = None  # requests under way, or waiting, before the first own one
    running_after: int | None = None
    reset: str = ""

    @property
    def seen(self) -> bool | None:
        """Whether somebody else used the server; None when nothing tells."""
        known = (self.requests, self.generation_tokens, self.running_before, self.running_after)
        told = [count for count in known if count is not None]
        return any(count > 0 for count in told) if told else None


def foreign_traffic(before: Counters | None, after: Counters | None, own: OwnTraffic) -> ForeignTraffic:
    """What the counters saw beyond one's own requests, all of which have ended between the two readings.

    llama.cpp counts no requests, so there the generated tokens tell. Less than one's own is no negative traffic: it
    means that the server counts late or otherwise, and is None. With requests that were perhaps not counted, only those
    beyond all of them are known to be somebody else's.
    """
    done = since(before, after)
    return ForeignTraffic(
        requests=_requests_beyond(done.requests_finished, own),
        prompt_tokens=_beyond(done.prompt_tokens, own.prompt_tokens),
        generation_tokens=_beyond(done.generation_tokens, own.generation_tokens),
        running_before=_busy(before),
        running_after=_busy(after),
        reset=reset_between(before, after),
    )


def _per_position(before: Counters, after: Counters) -> tuple[int, ...] | None:
    """Positions appear with the first draft that reaches them, so what was not there yet was zero."""
    now, was = after.accepted_per_position, before.accepted_per_position
    if was is None and before.drafts == 0:
        was = ()
    if now is None or was is None or len(was) > len(now):
        return None
    deltas = tuple(new - old for new, old in zip(now, was + (0,) * (len(now) - len(was)), strict=True))
    return deltas if all(delta >= 0 for delta in deltas) else None


def _minus(now: int | None, was: int | None) -> int | None:
    return None if now is None or was is None else now - was


def _beyond(counted: int | None, own: int | None) -> int | None:
    return None if counted is None or own is None or counted < own else counted - own


def _requests_beyond(counted: int | None, own: OwnTraffic) -> int | None:
    beyond = _beyond(counted, own.requests)
    return None if beyond == 0 and own.perhaps else beyond


def _busy(counters: Counters | None) -> int | None:
    if counters is None or counters.requests_running is None:
        return None
    return counters.requests_running + (counters.requests_waiting or 0)
