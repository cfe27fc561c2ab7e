"""`[watch]`: the watchdog."""

from __future__ import annotations

import msgspec

from pitstop.core.config.defaults import duration
from pitstop.core.units import Duration


class Watch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first report's watchdog: one generated token every five minutes, two strikes, fifteen minutes of grace."""

    engines: tuple[str, ...] = ()  # empty: every engine with `production = true`
    every: Duration = duration("5 min")  # between two looks
    deadline: Duration = duration("90 s")  # for the whole answer of one token, queueing included
    strikes: int = 2  # in a row, until it is restarted
    boot_grace: Duration = duration("15 min")  # from the engine's own start: while it boots, silence is no strike
    cooldown: Duration = duration("45 min")  # between two restarts
    restarts_per_day: int = 4  # more than that, and a person is asked for
    restart: bool = True  # false: look and tell, touch nothing
    metrics_listen: str = ""  # `127.0.0.1:9471`: Prometheus metrics; empty: none
