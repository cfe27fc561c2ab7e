"""What is to be measured, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pitstop.core.config.host import Host
from pitstop.rulers.ruler import Settings


@dataclass(frozen=True)
class Assignment:
    """`ordered` is the fingerprint that must answer; None for a server launched by others."""

    run_id: str
    rulers: Sequence[str]
    settings: Settings = field(default_factory=Settings)
    ordered: str | None = None
    via_gateway: bool = False  # then others' requests are part of what is measured
    repeats: int = 2  # of a ruler that others disturbed, before it is reported as it is
    host: Host = field(default_factory=Host)  # its memory_bandwidth gives decode figures their ceiling
    extra: dict[str, Any] = field(default_factory=dict)
