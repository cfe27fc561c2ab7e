"""What the watchdog remembers of each engine, on disk: strikes survive its own restart."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from pitstop.core.durable import write_durably
from pitstop.core.home import Home
from pitstop.decisions.watchdog import WatchState

_LOG = logging.getLogger(__name__)


def recall(home: Home, engine: str) -> WatchState:
    """The state as it was saved; a fresh one when there is none, or when the file cannot be understood."""
    try:
        return msgspec.json.decode(_path(home, engine).read_bytes(), type=WatchState)
    except FileNotFoundError:
        return WatchState()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        _LOG.warning("the watchdog's memory of %s is unreadable and begins anew: %s", engine, error)
        return WatchState()


def remember(home: Home, engine: str, state: WatchState) -> str:
    """Save the state; returns why the disk did not take it, or an empty string. The watchdog goes on either way."""
    path = _path(home, engine)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_durably(path, msgspec.json.encode(state))
    except OSError as error:
        return f"{path} could not be written: {error.strerror or error}"
    return ""


def _path(home: Home, engine: str) -> Path:
    return home.root / "watch" / f"{engine}.json"
