"""What pitstop itself asks of an engine beside any measurement: probes, which are no service.

`$PITSTOP_HOME/own/ENGINE.json`, changed under a lock, because a watchdog and a `watch --once` may both probe. It holds
no more than counts, so a file that is lost or cannot be written costs a trial some waiting, and nothing else.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec

from pitstop.core.home import Home
from pitstop.core.process_id import ProcessId, is_alive, own_id


class OwnRequests(msgspec.Struct, frozen=True):
    """Requests that are over, the tokens that servers counted for them, and the processes whose request is not over."""

    finished: int = 0
    tokens: int = 0
    on_their_way: tuple[ProcessId, ...] = ()


def own_requests(home: Home, engine: str) -> OwnRequests:
    """What stands in the file now; a request whose process is gone is over."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return _settled(msgspec.json.decode(_path(home, engine).read_bytes(), type=OwnRequests))
    return OwnRequests()


@contextlib.contextmanager
def own_request(home: Home, engine: str) -> Iterator[Callable[[int], None]]:
    """One request of ours, on its way inside the block; call the value with its tokens as the server counted them."""
    me, spent = own_id(), [0]
    _change(home, engine, lambda seen: _begun(seen, me))
    try:
        yield lambda tokens: spent.__setitem__(0, tokens)
    finally:
        _change(home, engine, lambda seen: _ended(seen, me, spent[0]))


def _begun(seen: OwnRequests, process: ProcessId) -> OwnRequests:
    return msgspec.structs.replace(seen, on_their_way=(*seen.on_their_way, process))


def _ended(seen: OwnRequests, process: ProcessId, tokens: int) -> OwnRequests:
    left = list(seen.on_their_way)
    if process in left:
        left.remove(process)
    return OwnRequests(seen.finished + 1, seen.tokens + tokens, tuple(left))


def _settled(seen: OwnRequests) -> OwnRequests:
    alive = tuple(process for process in seen.on_their_way if is_alive(process))
    return OwnRequests(seen.finished + len(seen.on_their_way) - len(alive), seen.tokens, alive)


def _change(home: Home, engine: str, change: Callable[[OwnRequests], OwnRequests]) -> None:
    with contextlib.suppress(OSError), _locked(home):
        path = _path(home, engine)
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        beside.write_bytes(msgspec.json.encode(change(own_requests(home, engine))))
        beside.replace(path)


@contextlib.contextmanager
def _locked(home: Home) -> Iterator[None]:
    folder = home.root / "own"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _path(home: Home, engine: str) -> Path:
    return home.root / "own" / f"{quote(engine, safe='')}.json"
