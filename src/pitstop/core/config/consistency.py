"""What a schema cannot say: names that must exist, values that must go together."""

from __future__ import annotations

from collections.abc import Iterator

from pitstop.core.config.engine import OFF, DockerLaunch, Engine
from pitstop.core.config.host import Host
from pitstop.core.config.limits import bad_names, engine_limits, trial_limits
from pitstop.core.config.nearest import nearest
from pitstop.core.config.patch import patch_contradictions
from pitstop.core.config.routes import gateway_contradictions
from pitstop.core.config.schema import Config
from pitstop.core.config.trial import Trial
from pitstop.core.units import parse_bandwidth

RULERS = ("decode", "prefill", "concurrency", "long-input", "thinking", "speculation", "mutual-load", "quality")
BUILT_IN_KNOB = "IMAGE"  # every docker engine has it


def contradictions(config: Config) -> Iterator[str]:
    """Yield a sentence for everything in `config` that cannot work, with its key."""
    yield from bad_names(config)
    yield from _host(config.host)
    for name, engine in config.engine.items():
        yield from _engine(name, engine)
    for name, trial in config.trial.items():
        yield from _trial(name, trial, config)
    yield from gateway_contradictions(config)
    yield from patch_contradictions(config.patch, config.engine)
    yield from _watch(config)


def _watch(config: Config) -> Iterator[str]:
    watch = config.watch
    for name in watch.engines:
        if name not in config.engine:
            yield f"`watch.engines`: there is no engine {name!r}{nearest(name, config.engine)}"
    if watch.strikes < 1 or watch.restarts_per_day < 0:
        yield "`watch`: strikes must be at least 1, and restarts_per_day not negative"
    if watch.every <= 0 or watch.deadline <= 0:
        yield "`watch`: every and deadline must be longer than nothing"


def knobs_of(engine: Engine) -> dict[str, str]:
    """Every knob of an engine with its default."""
    knobs = {name: knob.default for name, knob in engine.knob.items()}
    # A table without a default, as in `[engine.qwen.knob.IMAGE]`, documents the built-in knob.
    if isinstance(engine.launch, DockerLaunch) and knobs.get(BUILT_IN_KNOB, OFF) == OFF:
        knobs[BUILT_IN_KNOB] = engine.launch.image
    return knobs


def _host(host: Host) -> Iterator[str]:
    try:
        bandwidth = parse_bandwidth(host.memory_bandwidth) if host.memory_bandwidth else 1.0
    except ValueError as error:
        yield f"`host.memory_bandwidth`: {error}"
        return
    if not bandwidth:
        yield "`host.memory_bandwidth`: nothing is read at 0 bytes a second; leave it out when it is not known"


def _engine(name: str, engine: Engine) -> Iterator[str]:
    yield from engine_limits(f"engine.{name}", engine)
    for knob_name, knob in engine.knob.items():
        if knob.values and knob.default not in knob.values:
            yield f"`engine.{name}.knob.{knob_name}.default`: {knob.default!r} is not among its own values"
        built_in = knob_name == BUILT_IN_KNOB and isinstance(engine.launch, DockerLaunch)
        if not knob.args and not knob.env and not built_in:
            yield f"`engine.{name}.knob.{knob_name}`: turns nothing; give it `args` or `env`"


def _trial(name: str, trial: Trial, config: Config) -> Iterator[str]:
    where = f"trial.{name}"
    engine = config.engine.get(trial.engine)
    if engine is None:
        yield f"`{where}.engine`: there is no engine {trial.engine!r}{nearest(trial.engine, config.engine)}"
        return
    if engine.launch is None:
        yield f"`{where}.engine`: {trial.engine!r} has no [engine.{trial.engine}.launch], so nothing could restore it"
    yield from _plan(where, trial)
    yield from trial_limits(where, trial)
    for variant, overrides in trial.variant.items():
        yield from _variant(f"{where}.variant.{variant}", overrides, engine)


def _plan(where: str, trial: Trial) -> Iterator[str]:
    for ruler in trial.rulers:
        if ruler not in RULERS:
            yield f"`{where}.rulers`: unknown ruler {ruler!r}{nearest(ruler, RULERS)}"
    for key in ("minimum_effect", "minimum_score_effect"):
        if not 0 < getattr(trial, key) < 1:
            yield f"`{where}.{key}`: must lie between 0 % and 100 %"
    if not trial.variant:
        yield f"`{where}`: no variant; add [{where}.variant.SOMETHING] with a knob"


def _variant(where: str, overrides: dict[str, str], engine: Engine) -> Iterator[str]:
    knobs = knobs_of(engine)
    for knob, value in overrides.items():
        if knob not in knobs:
            yield f"`{where}`: unknown knob {knob!r}{nearest(knob, knobs)}"
        elif (allowed := engine.knob.get(knob)) and allowed.values and value not in allowed.values:
            yield f"`{where}.{knob}`: {value!r} is not one of {', '.join(allowed.values)}"
    if all(knobs.get(knob) == value for knob, value in overrides.items()):
        yield f"`{where}`: is equal to production; override at least one knob with another value"
