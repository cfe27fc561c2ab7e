"""An engine's log: one file across restarts, with a line between them, bounded in size."""

from __future__ import annotations

import logging
import os
from datetime import datetime
from pathlib import Path

_LOG = logging.getLogger(__name__)
MAX_BYTES = 64 * 2**20  # a vLLM that logs a line per second fills this in about a week
_TAIL_BYTES = 256 * 1024
_MARK = "═══ pitstop:"


def open_for_engine(path: Path, engine: str, fingerprint: str, now: datetime, *, max_bytes: int = MAX_BYTES) -> int:
    """A descriptor that the engine writes to, behind a separating line.

    A full disk must not keep an engine down, nor end it at its first line: then the descriptor is /dev/null. A file
    above `max_bytes` is set aside as `NAME.log.1` first, so that at most twice that is kept from before.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists() and path.stat().st_size > max_bytes:
            path.replace(path.with_name(path.name + ".1"))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return _nowhere(path, engine, error)
    try:
        os.write(descriptor, f"{_MARK} {engine} starts, {now.isoformat()}, {fingerprint} ═══\n".encode())
    except OSError as error:
        os.close(descriptor)
        return _nowhere(path, engine, error)
    return descriptor


def _nowhere(path: Path, engine: str, error: OSError) -> int:
    _LOG.warning("the log %s cannot be written, so engine %s runs without one: %s", path, engine, error)
    return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


def keep(path: Path, engine: str, fingerprint: str, text: str, now: datetime, *, max_bytes: int = MAX_BYTES) -> None:
    """Append the log of an engine that wrote elsewhere, under a separator; what the disk does not take is lost."""
    descriptor = open_for_engine(path, engine, fingerprint, now, max_bytes=max_bytes)
    try:
        os.write(descriptor, text.encode()[-max_bytes:])
    except OSError as error:
        _LOG.warning("the log %s takes no more lines: %s", path, error)
    finally:
        os.close(descriptor)


def tail(path: Path | None, lines: int, *, this_start_only: bool = False) -> list[str]:
    """The last lines, without separators; those since the last start when asked. Empty when there is no log."""
    if path is None:
        return []
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    if this_start_only:
        text = text.rpartition(_MARK)[2].partition("\n")[2] if _MARK in text else text
    kept = [line.rstrip() for line in text.split("\n") if line.strip() and not line.startswith(_MARK)]
    return kept[-lines:] if lines > 0 else []
