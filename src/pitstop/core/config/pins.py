"""`[pins]`: where images are asked for, and where copies of them are kept."""

from __future__ import annotations

import msgspec

from pitstop.core.config.defaults import duration
from pitstop.core.units import Duration


class Pins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mirror: str = ""  # the local registry, as in `127.0.0.1:5000`
    upstream: dict[str, str] = {}  # engine: the repository that is asked about its tag, where its image is a copy
    plain_http: tuple[str, ...] = ()  # registries without TLS; those on this machine are tried so anyway
    platform: str = ""  # as in `linux/arm64`; empty: this machine's
    deadline: Duration = duration("20 s")  # for each answer of a registry
