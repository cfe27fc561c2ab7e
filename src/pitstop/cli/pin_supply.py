"""What all of `pitstop pins` needs: the pinned engine, the registries, the ledger's record of pins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pitstop.cli.ledger import opened_ledger

if TYPE_CHECKING:
    from pitstop.cli.shell import Shell
    from pitstop.core.config.engine import Engine
    from pitstop.core.config.schema import Config
    from pitstop.ledger.records import PinRecord
    from pitstop.supply.pins import Supply


def pinned_engine(shell: Shell, name: str) -> tuple[Config, Engine, str]:
    from pitstop.core.errors import UsageError
    from pitstop.services.site import engine_named
    from pitstop.supply.pin_file import image_of

    config = shell.config()
    _, engine = engine_named(config, name)
    image = image_of(engine)
    if image is None:
        raise UsageError(
            f"engine {name} has no image of its own in pitstop.toml.",
            hint="Pins are for engines that are launched with docker or podman; a script's image is in the script.",
        )
    return config, engine, image


def supply_of(config: Config) -> Supply:
    from pitstop.supply.pins import Supply

    return Supply(config.pins, os.environ)


def keep_pin(shell: Shell, record: PinRecord) -> None:
    with opened_ledger(shell) as ledger:
        ledger.record_pin(record)
