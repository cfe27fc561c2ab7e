"""A configuration that may be shown to anyone."""

from __future__ import annotations

import msgspec

from pitstop.core.config.engine import Engine, Knob, Launch
from pitstop.core.config.schema import Config
from pitstop.core.secrets import HIDDEN, is_secret, masked, redacted

_COMMANDS = ("command", "run", "start", "stop", "version_command")


def without_secrets(config: Config) -> Config:
    """The same configuration with what looks secret masked: in environments, in command lines and in knobs."""
    engines = {name: _without_secrets(engine) for name, engine in config.engine.items()}
    return msgspec.structs.replace(config, engine=engines)


def _without_secrets(engine: Engine) -> Engine:
    knobs = {name: _knob(name, knob) for name, knob in engine.knob.items()}
    return msgspec.structs.replace(engine, launch=_launch(engine.launch), knob=knobs)


def _launch(launch: Launch | None) -> Launch | None:
    if launch is None:
        return None
    commands = {name: tuple(redacted(getattr(launch, name))) for name in _COMMANDS if hasattr(launch, name)}
    return msgspec.structs.replace(launch, env=masked(launch.env), **commands)


def _knob(name: str, knob: Knob) -> Knob:
    if is_secret(name, knob.default) or is_secret(knob.env):
        return msgspec.structs.replace(knob, default=HIDDEN)
    return knob
