"""One start or stop of an engine at a time on this machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from pitstop.core.errors import UsageError
from pitstop.core.home import Home


@contextlib.contextmanager
def locked(home: Home, engine: str) -> Iterator[None]:
    """Hold the engine's lock, which ends with its holder; UsageError when another pitstop holds it.

    A disk that refuses the lock's file is no reason to leave production down: then there is no lock.
    """
    try:
        home.engines.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(home.engines / f".{engine}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(
            f"another pitstop is starting or stopping engine {engine} right now.", hint="Wait for it, then try again."
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)
