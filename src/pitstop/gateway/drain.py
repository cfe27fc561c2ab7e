"""What a trial, a restart or `down` asks of the gateway. Everything works the same when no gateway runs.

drain(home, engine)                  # new requests go to the fallback, wait, or are told to come back
while in_flight(home, engine): ...   # those inside finish; the caller owns the clock and the patience
…take down, swap, bring back, prove…
release(home, engine)                # those who wait are let in
"""

from __future__ import annotations

from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.gateway.control import ask_all
from pitstop.gateway.holds import hold, unhold


def drain(home: Home, engine: str) -> int:
    """Shut the door of `engine`; returns how many requests are still inside (0 when no gateway runs).

    The hold ends with `release`, or with this process. UsageError when it cannot be written, Unreachable when a gateway
    is there and does not answer; the door is shut in that case too.
    """
    try:
        hold(home, engine)
    except OSError as error:
        raise UsageError(f"the gateway's door for {engine} cannot be held: {error.strerror or error}.") from error
    return in_flight(home, engine)


def in_flight(home: Home, engine: str) -> int:
    """Requests inside `engine` through every gateway of this state folder; 0 when none runs."""
    return sum(census.in_flight.get(engine, 0) for census in ask_all(home))


def release(home: Home, engine: str) -> None:
    """Open the door again, at once where a gateway runs; no error when it was open."""
    unhold(home, engine)
    ask_all(home)  # makes each gateway look now; a tick later it would have seen for itself
