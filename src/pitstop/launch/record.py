"""What pitstop noted about the engine that it launched: a hint where to look, never the proof that it runs."""

from __future__ import annotations

import logging
from typing import Literal

import msgspec

from pitstop.core.durable import remove_durably, write_durably
from pitstop.core.home import Home
from pitstop.launch.launcher import LaunchSpec

_LOG = logging.getLogger(__name__)


class LaunchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Written before the engine is started (without a pid) and after (with it)."""

    spec: LaunchSpec
    state: Literal["starting", "started"]
    boot_id: str
    launch: str  # the launch id in every process's mark
    pid: int | None = None
    start_ticks: int | None = None
    container_id: str | None = None
    image_id: str | None = None  # what the container really ran, by content
    configured: str | None = None  # hash of the container's settings, as they were when it was made
    restart_policy: str | None = None  # what to set again when a trial is over
    version: int = 1


def write(home: Home, record: LaunchRecord) -> bool:
    """Keep the record; False when the disk does not take it, which must not keep production down."""
    try:
        home.engines.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_durably(home.engines / f"{record.spec.engine}.json", msgspec.json.encode(record))
    except OSError as error:
        _LOG.warning("the record of engine %s could not be written: %s", record.spec.engine, error)
        return False
    return True


def read(home: Home, engine: str) -> LaunchRecord | None:
    """The record, or None when there is none or it cannot be understood (half written, of a later version)."""
    try:
        return msgspec.json.decode((home.engines / f"{engine}.json").read_bytes(), type=LaunchRecord)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        _LOG.warning("the record of engine %s is unreadable and is ignored: %s", engine, error)
        return None


def remove(home: Home, engine: str) -> None:
    try:
        remove_durably(home.engines / f"{engine}.json")
    except OSError as error:
        _LOG.warning("the record of engine %s could not be removed: %s", engine, error)
