"""Where the ledger is: SQLite under the state folder, or where the configuration points to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pitstop.cli.shell import Shell
    from pitstop.ledger.store import Ledger


def opened_ledger(shell: Shell, url_env: str | None = None) -> Ledger:
    """The ledger, made when there is none. `url_env` is what a trial was promised; else the configuration says it."""
    from pitstop.ledger.store import Ledger

    return Ledger.open(_url(shell, url_env) or shell.home().ledger)


def ledger_if_any(shell: Shell) -> Ledger | None:
    """The ledger where there is one, for a command that can do without and leaves no trace."""
    from pitstop.core.home import Home
    from pitstop.ledger.store import Ledger

    place = Home.from_environment(os.environ).ledger
    url = _url(shell, None)
    return Ledger.open(url or place) if url or place.exists() else None


def _url(shell: Shell, url_env: str | None) -> str:
    variable = shell.config_or_empty().host.ledger_url_env if url_env is None else url_env
    return os.environ.get(variable, "") if variable else ""
