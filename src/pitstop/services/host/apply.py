"""Installs rendered files, and takes them back: what was there before is kept beside an undo record."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pitstop.core.durable import remove_durably, write_durably
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.services.host.render import RenderedFile

_RECORD = "host-undo.json"


class Replaced(msgspec.Struct, frozen=True):
    """What a path held before; None when there was nothing."""

    path: str
    before: str | None
    after: str


@dataclass(frozen=True)
class Change:
    """One file that differs from what is there."""

    file: RenderedFile
    before: str | None

    @property
    def verb(self) -> str:
        return "write" if self.before is None else "replace"


def changes(files: Sequence[RenderedFile], root: Path) -> list[Change]:
    """What `apply` would do below `root`; files that are as they should be are left out."""
    found = []
    for file in files:
        before = _text(_below(root, file.path))
        if file.applied and before != file.text:
            found.append(Change(file, before))
    return found


def apply(wanted: Sequence[Change], root: Path, home: Home) -> None:
    """Write the files; the undo record is on disk before the first. UsageError when a file cannot be written."""
    record = [Replaced(change.file.path, change.before, change.file.text) for change in wanted]
    write_durably(home.root / _RECORD, msgspec.json.encode(_merged(read_undo(home), record)))
    for change in wanted:
        _write(_below(root, change.file.path), change.file.text)


def read_undo(home: Home) -> list[Replaced]:
    """What was replaced so far and not taken back."""
    try:
        return msgspec.json.decode((home.root / _RECORD).read_bytes(), type=list[Replaced])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(
            f"the undo record {home.root / _RECORD} is unreadable: {error}.", hint="Move it away to begin a new one."
        ) from error


def undo(root: Path, home: Home, *, dry_run: bool = False) -> tuple[list[str], list[str]]:
    """Put everything back; returns the paths put back, and those left alone because somebody changed them since."""
    back, left = [], []
    for one in read_undo(home):
        path = _below(root, one.path)
        if _text(path) != one.after:
            left.append(one.path)
            continue
        back.append(one.path)
        if dry_run:
            continue
        if one.before is None:
            remove_durably(path)
        else:
            _write(path, one.before)
    if not dry_run:
        kept = [one for one in read_undo(home) if one.path in left]
        write_durably(home.root / _RECORD, msgspec.json.encode(kept))
    return back, left


def write_below(files: Sequence[RenderedFile], folder: Path) -> list[Path]:
    """Write all files below `folder`, for a look; returns where. UsageError when that is not possible."""
    written = []
    for file in files:
        path = _below(folder, file.path)
        _write(path, file.text)
        written.append(path)
    return written


def _merged(earlier: list[Replaced], new: list[Replaced]) -> list[Replaced]:
    """The first `before` of a path counts: undo goes back to the time before pitstop."""
    first = {one.path: one.before for one in earlier}
    merged = {one.path: one for one in earlier}
    for one in new:
        merged[one.path] = Replaced(one.path, first.get(one.path, one.before), one.after)
    return list(merged.values())


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _text(path: Path) -> str | None:
    """What the file says; None when there is none. UsageError for one that could not be put back."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is there but cannot be read: {error}.", hint="It would be lost; move it away first."
        ) from error


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, text.encode(), mode=0o644)
    except OSError as error:
        who = "" if os.geteuid() == 0 else " Run it as root, or look at the files with `pitstop host render --out DIR`."
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}.", hint=f"Nothing after it was changed.{who}"
        ) from error
