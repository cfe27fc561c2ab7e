"""Files that survive a power cut: written beside, synced, renamed, and the folder synced too."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def write_durably(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Replace `path` in one step; after the return it is on disk. OSError when it is not.

    A reader sees the old or the new content, never a part; on failure the old content stays. A link is followed; a
    device or a pipe (`--out /dev/null`) is written to and never replaced.
    """
    if path.exists() and not path.is_file():
        _write_into(path, content)
        return
    path = Path(os.path.realpath(path))
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        try:
            _write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def is_full(error: OSError) -> bool:
    """Whether it failed for want of room: the disk's, or what the user may have of it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def write_durably_without_room(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """`write_durably`, and on a full disk over the old content in place, which asks the disk for no new block.

    Only for content of one block, and for readers who take a torn file for none: a kill in the middle leaves one.
    """
    try:
        write_durably(path, content, mode=mode)
    except OSError as error:
        if not is_full(error) or not path.exists():
            raise
        descriptor = os.open(path, os.O_WRONLY)
        try:
            _write_all(descriptor, content)
            os.ftruncate(descriptor, len(content))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_into(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        _write_all(descriptor, content)
    finally:
        os.close(descriptor)


def append_durably(path: Path, line: bytes, *, mode: int = 0o600) -> None:
    """Append one line and sync it; a torn last line is left for the reader to ignore."""
    new = not path.exists()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)
    try:
        _write_all(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if new:
        sync_folder(path.parent)


def remove_durably(path: Path) -> None:
    """Delete `path` if it is there, and sync the folder so that it stays deleted."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
