"""`[trial.NAME]`: an unattended A/B test of one engine."""

from __future__ import annotations

from typing import Literal

import msgspec

from pitstop.core.config.defaults import duration, share, size
from pitstop.core.config.quality import Quality
from pitstop.core.units import Duration, Share, Size


class TrialGuard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The floor under every candidate. 8 GB is where the first report's desktop began to freeze."""

    min_available: Size = size("8 GB")  # under a candidate, from its first millisecond
    max_swap_growth: Size = size("8000 MiB")  # the second report's limit


class Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    engine: str  # which engine is production here
    variant: dict[str, dict[str, str]]  # a table per variant: knobs with other values than the defaults
    rulers: tuple[str, ...] = ("decode", "prefill")  # what every arm is measured by
    order: Literal["ABBA", "random"] = "ABBA"  # mirrored blocks, or blocks drawn by `seed`
    boots: int = 2  # per arm
    stop_early: bool = (
        False  # look once, halfway: all primary figures decided, or the rest futile? Costs 3 to 5 % width
    )
    minimum_effect: Share = share("3 %")  # less is not worth a change; said before the run
    minimum_score_effect: Share = share("10 %")  # the same for a quality score: 28 tasks cannot show as little as 3 %
    idle_for: Duration = duration("5 min")  # without a request, before production is taken down
    give_up_after: Duration = duration("4 h")  # of waiting for that; nothing was touched then
    window: str = ""  # 01:00-06:00, local time; empty: any time
    guard: TrialGuard = msgspec.field(default_factory=TrialGuard)
    seed: int = 1  # of nonces, and of the order when it is random
    primary: tuple[str, ...] = ()  # `ruler/case/metric` globs, named beforehand; empty: each ruler's own choice
    cases: tuple[str, ...] = ()  # globs over case names, as in `prose/en/*`; empty: all
    runs: int = 3  # measured requests per case and boot
    max_tokens: int = 512  # per reply
    pp: tuple[int, ...] = (8000, 30000)  # prompt sizes of prefill, in tokens
    concurrency: tuple[int, ...] = (1, 8, 16)  # numbers of streams at once
    thinking: tuple[Literal["on", "off"], ...] = ("off", "on")  # where the model has a switch
    quality: Quality | None = None  # how the quality ruler asks in this trial; left out: as [quality] says
    drop_caches: bool = False  # the page cache, before each boot: for start checks that read MemFree; needs root
    memory_timeout: Duration = duration("10 min")  # how long freed memory may take to come back between boots
