"""What a trial promised before it touched production: everything that a restore needs, on disk and synced.

`recover` reads nothing else: pitstop.toml may have been edited, moved or lost since.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from pitstop.core.config.engine import Engine
from pitstop.core.config.trial import Trial
from pitstop.core.documents import encode
from pitstop.core.durable import write_durably
from pitstop.core.errors import UsageError
from pitstop.decisions.trial import Boot
from pitstop.launch.launcher import LaunchSpec

FILE = "promise.json"


class Arm(msgspec.Struct, frozen=True):
    """One arm of the trial; the first is production with its defaults."""

    name: str
    overrides: dict[str, str]
    spec: LaunchSpec


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    started_at: str  # ISO 8601, UTC
    engine_name: str
    engine: Engine
    trial: Trial
    arms: tuple[Arm, ...]
    boots: tuple[Boot, ...]
    # Where a recovery, which reads no configuration, finds people and the ledger: names of variables, never values.
    notify: tuple[str, ...] = ()
    ledger_url_env: str = ""

    @property
    def production(self) -> LaunchSpec:
        """The launch value that must be running again at the end."""
        return self.arms[0].spec


def write_promise(folder: Path, promise: Promise) -> None:
    """Put it on disk; OSError when that cannot be done, and then nothing may be touched."""
    write_durably(folder / FILE, encode(promise))


def read_promise(folder: Path) -> Promise:
    """The promise of the trial in `folder`; UsageError when the file is missing or not readable."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Promise, dec_hook=_quantity)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(
            f"{folder / FILE} cannot be read: {error}.",
            hint="What to restore is not known from it: see that production is up (`pitstop status`, `pitstop up`), "
            f"then move {folder} away.",
        ) from error


def _quantity(kind: type, value: Any) -> Any:
    return kind(value)
