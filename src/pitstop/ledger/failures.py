"""What goes wrong in a database, in sentences. The one place where foreign exceptions become ours."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from sqlalchemy import exc

from pitstop.core.errors import PitstopError, Unreachable, UsageError

_BACKUP = "Move it aside and start again, or restore a copy: the JSON documents of runs and trials lie beside it."
# By the name of SQLite's primary result code: what is wrong, what to do.
_SQLITE = {
    "SQLITE_FULL": ("the disk is full", "Make room, then try again; nothing that was recorded before is lost."),
    "SQLITE_READONLY": ("it cannot be written", "Give your user write access to the file and its folder."),
    "SQLITE_PERM": ("it cannot be written", "Give your user write access to the file and its folder."),
    "SQLITE_CANTOPEN": ("it cannot be opened", "Check that its folder exists and that your user may write there."),
    "SQLITE_NOTADB": ("it is not a database", _BACKUP),
    "SQLITE_CORRUPT": ("it is damaged", _BACKUP),
    "SQLITE_BUSY": ("another process has held it for half a minute", "See who has it open (`fuser`), then try again."),
    "SQLITE_LOCKED": ("another process has held it for half a minute", "See who has it open, then try again."),
    "SQLITE_IOERR": ("the disk reports an error", "Look at the kernel log for the disk, then restore a copy."),
}


@contextlib.contextmanager
def spoken(place: str) -> Iterator[None]:
    """Raise what SQLAlchemy and SQLite raise as a sentence about the ledger at `place`."""
    try:
        yield
    except (exc.SQLAlchemyError, sqlite3.Error) as error:
        raise _sentence(error, place) from error


def damaged(place: str, told: str) -> UsageError:
    """The error for a ledger of which SQLite told what is wrong in it."""
    return UsageError(f"the ledger {place} cannot be used: it is damaged ({' '.join(told.split())}).", hint=_BACKUP)


def _sentence(error: exc.SQLAlchemyError | sqlite3.Error, place: str) -> PitstopError:
    original = getattr(error, "orig", None) or error
    name = getattr(original, "sqlite_errorname", None) or ""
    for code, (what, hint) in _SQLITE.items():
        if name == code or name.startswith(f"{code}_"):
            return UsageError(f"the ledger {place} cannot be used: {what}.", hint=hint)
    if isinstance(error, exc.OperationalError) and not name:
        first = str(original).strip().splitlines()[0] if str(original).strip() else "no answer"
        return Unreachable(f"the ledger's database {place} does not answer: {first}", hint="Is the server up?")
    return UsageError(f"the ledger {place} cannot be used: {original}", hint=_BACKUP)
