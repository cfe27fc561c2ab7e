"""A configuration that may be shown to anyone."""

from __future__ import annotations

import msgspec

from pitstop.core.config.engine import Engine
from pitstop.core.config.schema import Config
from pitstop.core.secrets import masked


def without_secrets(config: Config) -> Config:
    """The same configuration with secret environment values masked."""
    engines = {name: _without_secrets(engine) for name, engine in config.engine.items()}
    return msgspec.structs.replace(config, engine=engines)


def _without_secrets(engine: Engine) -> Engine:
    if engine.launch is None:
        return engine
    return msgspec.structs.replace(engine, launch=msgspec.structs.replace(engine.launch, env=masked(engine.launch.env)))
