"""`[trial.NAME]`: an unattended A/B test of one engine."""

from __future__ import annotations

from typing import Literal

import msgspec

from pitstop.core.config.defaults import duration, share, size
from pitstop.core.units import Duration, Share, Size


class TrialGuard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The floor under every candidate. 8 GB is where the first report's desktop began to freeze."""

    min_available: Size = size("8 GB")
    max_swap_growth: Size = size("8000 MiB")  # the second report's limit


class Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    engine: str
    variant: dict[str, dict[str, str]]
    rulers: tuple[str, ...] = ("decode", "prefill")
    order: Literal["ABBA", "random"] = "ABBA"
    boots: int = 2  # per arm
    minimum_effect: Share = share("3 %")
    idle_for: Duration = duration("5 min")
    give_up_after: Duration = duration("4 h")
    window: str = ""  # 01:00-06:00, local time; empty: any time
    guard: TrialGuard = msgspec.field(default_factory=TrialGuard)
    seed: int = 1
    primary: tuple[str, ...] = ()  # `ruler/case/metric` globs, named beforehand; empty: each ruler's own choice
    cases: tuple[str, ...] = ()  # globs over case names, as in `prose/en/*`; empty: all
    runs: int = 3
    max_tokens: int = 512
    pp: tuple[int, ...] = (8000, 30000)
    concurrency: tuple[int, ...] = (1, 8, 16)
    thinking: tuple[Literal["on", "off"], ...] = ("off", "on")
    memory_timeout: Duration = duration("10 min")  # how long freed memory may take to come back between boots
