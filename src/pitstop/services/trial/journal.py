"""The journal of a trial: every action before it begins, every outcome after it; each line synced.

One JSON object a line: {"at", "kind": "begun", "action"} or {"at", "kind": "ended", "outcome"} or {"at", "kind":
"note", "text"}. A torn last line, as a power cut leaves it, is ignored. A little room on the disk is kept in reserve
from the start, and given up when the disk is full, so that the restore can still be written down.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from pitstop.core.durable import append_durably
from pitstop.core.encoding import encoded
from pitstop.decisions.trial import Action, Outcome

FILE = "journal.jsonl"
RESERVE = "reserve"
RESERVE_BYTES = 256 * 1024  # some 800 lines; a trial of 20 boots writes about 130


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    at: str
    kind: Literal["begun", "ended", "note"]
    action: Action | None = None
    outcome: Outcome | None = None
    text: str = ""


@dataclass
class Journal:
    """Writes the journal in `folder`; `clock` gives ISO 8601 in UTC."""

    folder: Path
    clock: Callable[[], str]

    def keep_reserve(self) -> None:
        """Set room aside; OSError when the disk has none, and then nothing may be touched."""
        descriptor = os.open(self.folder / RESERVE, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def begin(self, action: Action) -> None:
        self._append(Entry(self.clock(), "begun", action=action))

    def end(self, outcome: Outcome) -> None:
        self._append(Entry(self.clock(), "ended", outcome=outcome))

    def note(self, text: str) -> None:
        """A word for the log; lost without harm when the disk is full."""
        with contextlib.suppress(OSError):
            self._append(Entry(self.clock(), "note", text=text))

    def release_reserve(self) -> None:
        with contextlib.suppress(OSError):
            (self.folder / RESERVE).unlink(missing_ok=True)

    def _append(self, entry: Entry) -> None:
        line = encoded(entry) + b"\n"
        try:
            append_durably(self.folder / FILE, line)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            self.release_reserve()
            # The refused write may have left a part of the line; a newline closes it off.
            append_durably(self.folder / FILE, b"\n" + line)


def entries(folder: Path) -> Iterator[Entry]:
    """Every readable line, in order; what is torn is passed over."""
    try:
        content = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return
    for line in content.split(b"\n"):
        with contextlib.suppress(msgspec.MsgspecError):
            yield msgspec.json.decode(line, type=Entry)


def steps(folder: Path) -> list[tuple[Action, Outcome | None]]:
    """Actions with their outcomes; one that another action followed without an outcome was interrupted (None)."""
    told: list[tuple[Action, Outcome | None]] = []
    for entry in entries(folder):
        if entry.kind == "begun" and entry.action is not None:
            told.append((entry.action, None))
        elif entry.kind == "ended" and entry.outcome is not None and told:
            told[-1] = (told[-1][0], entry.outcome)
    return told
