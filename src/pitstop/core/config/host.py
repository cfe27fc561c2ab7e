"""`[host]`: the box itself."""

from __future__ import annotations

import msgspec

from pitstop.core.config.defaults import size
from pitstop.core.units import Size


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_available: Size = size("12 GiB")  # the second report's floor; 15 GiB is its recommendation
    max_swap_growth: Size = size("8000 MiB")  # since a guard's start; the second report's limit
    memory_bandwidth: str = ""  # `273 GB/s` on a DGX Spark; for the ceiling of a decode figure
    notify: tuple[str, ...] = ()  # names of environment variables that hold apprise URLs
    ledger_url_env: str = ""  # the environment variable with a SQLAlchemy URL; SQLite under the state folder otherwise
