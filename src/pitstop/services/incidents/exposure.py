"""How long an engine ran as what: the hook for whatever keeps an engine up or looks at it.

Call `note_up` whenever the engine is seen up: a spell is named by engine, container or process, and start, so telling
it again while it lasts replaces the numbers instead of adding to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from platform import release

from pitstop.core.errors import UsageError
from pitstop.launch.launcher import Running
from pitstop.ledger.records import Configuration, Spell, instant
from pitstop.ledger.store import Ledger
from pitstop.supply.lock import driver_version


@dataclass(frozen=True)
class Served:
    """Counters of one boot, as the engine tells them; None where it does not."""

    requests: int | None = None
    tokens: int | None = None


def configuration_of(running: Running, *, driver: str | None, kernel: str | None) -> Configuration:
    """What is counted together: a change of image, driver, kernel or launch starts a new count."""
    return Configuration(image_digest=running.image_digest, driver=driver, kernel=kernel, flags=running.fingerprint)


def spell_of(running: Running, configuration: Configuration, now: datetime, served: Served | None = None) -> Spell:
    """The stretch from this engine's start until `now`. UsageError when it did not start before `now`."""
    began = datetime.fromisoformat(instant(running.started_at))
    hours = (now.astimezone(UTC) - began).total_seconds() / 3600
    if hours < 0:
        raise UsageError(f"engine {running.engine} started at {running.started_at}, which is not yet.")
    which = running.container_id or (f"pid-{running.pid}" if running.pid else running.fingerprint)
    return Spell(
        spell=f"{running.engine}-{which[:24]}-{began.isoformat()}",
        engine=running.engine,
        configuration=configuration,
        started_at=began.isoformat(),
        ended_at=now.astimezone(UTC).isoformat(),
        hours_up=hours,
        boots=1,
        requests=served.requests if served else None,
        tokens=served.tokens if served else None,
    )


def note_up(ledger: Ledger, running: Running, now: datetime, served: Served | None = None) -> Spell:
    """Keep that this engine is up until `now`, with this machine's driver and kernel."""
    spell = spell_of(running, configuration_of(running, driver=driver_version(), kernel=release()), now, served)
    ledger.add_exposure(spell)
    return spell
