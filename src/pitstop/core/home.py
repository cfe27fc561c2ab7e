"""The state folder: where each thing that outlives a process lies."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from pitstop.core.durable import is_full
from pitstop.core.errors import UsageError


@dataclass(frozen=True)
class Home:
    """`$PITSTOP_HOME`, by default `~/.local/state/pitstop`."""

    root: Path

    @classmethod
    def from_environment(cls, environ: dict[str, str] | os._Environ[str]) -> Home:
        chosen = environ.get("PITSTOP_HOME")
        return cls(Path(chosen) if chosen else Path.home() / ".local/state/pitstop")

    def prepared(self) -> Home:
        """Create the folders; UsageError when the place cannot be written.

        A disk that is merely full stops nobody here: what looks, stops or restores has to work then most of all, and
        whoever needs room says so where it is needed.
        """
        try:
            for folder in (self.engines, self.trials, self.logs, self.runs, self.evidence):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._try_to_write()
        except OSError as error:
            raise UsageError(
                f"the state folder {self.root} cannot be written: {error.strerror or error}.",
                hint="Set PITSTOP_HOME to a folder that is yours and on a disk with room, then try again.",
            ) from error
        return self

    def _try_to_write(self) -> None:
        probe = self.root / f".writable.{os.getpid()}"
        try:
            probe.write_bytes(b"pitstop")
        except OSError as error:
            if not is_full(error):
                raise
        finally:
            with contextlib.suppress(OSError):
                probe.unlink(missing_ok=True)

    @property
    def engines(self) -> Path:
        """One record per engine that pitstop launched: `NAME.json`."""
        return self.root / "engines"

    @property
    def trials(self) -> Path:
        """One folder per trial: journal, what to restore, run documents."""
        return self.root / "trials"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def logs(self) -> Path:
        """Engines' logs, kept across restarts."""
        return self.root / "logs"

    @property
    def evidence(self) -> Path:
        """What the guard and the watchdog saved before they acted."""
        return self.root / "evidence"

    @property
    def lease(self) -> Path:
        return self.root / "lease.json"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.sqlite3"
