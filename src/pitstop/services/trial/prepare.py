"""Everything that can be found wrong with a trial is found here, before anything is touched."""

from __future__ import annotations

import random
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from pitstop.core.config.engine import Engine
from pitstop.core.config.nearest import nearest
from pitstop.core.config.schema import Config
from pitstop.core.config.trial import Trial
from pitstop.core.config.window import parse_window
from pitstop.core.errors import EngineFailed, NotRestored, UsageError
from pitstop.core.home import Home
from pitstop.core.units import format_size
from pitstop.decisions.trial import Boot, schedule
from pitstop.launch.plan import plan
from pitstop.rulers.registry import ruler_for
from pitstop.services.readiness import refuse_unless_ready
from pitstop.services.site import Site
from pitstop.services.trial.fit import refuse_arms_that_cannot_start, refuse_arms_that_do_not_fit
from pitstop.services.trial.folder import owed
from pitstop.services.trial.promise import Arm, Promise

PRODUCTION = "production"
AGAIN = "production-again"


def trial_named(config: Config, name: str) -> Trial:
    """The trial of that name; UsageError with the nearest one."""
    if name not in config.trial:
        known = ", ".join(config.trial) or "none"
        raise UsageError(f"there is no trial {name!r}{nearest(name, config.trial)}", hint=f"There are: {known}.")
    trial = config.trial[name]
    return trial if trial.quality else msgspec.structs.replace(trial, quality=config.quality)


class Kind(StrEnum):
    """What a trial is run for."""

    VARIANTS = "variants"
    NOISE = "noise"  # production against itself: what this box's boots differ by
    REHEARSAL = "rehearsal"  # take-down and restore, with nothing in between


def draw_up(
    name: str,
    trial: Trial,
    engine: Engine,
    environ: Mapping[str, str],
    now: datetime,
    kind: Kind = Kind.VARIANTS,
) -> Promise:
    """The whole trial as a value: arms, launch values, order. Touches nothing, looks at nothing but the environment."""
    for ruler in trial.rulers:
        ruler_for(ruler)
    _window(name, trial)
    production = Arm(PRODUCTION, {}, plan(trial.engine, engine, environ=environ))
    arms = (production, *_other_arms(name, trial, engine, environ, kind, production))
    return Promise(
        id=f"{now:%Y%m%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9]+', '-', name)}-{secrets.token_hex(2)}",
        name=name,
        started_at=now.isoformat(timespec="seconds"),
        engine_name=trial.engine,
        engine=engine,
        trial=trial,
        arms=arms,
        boots=() if kind is Kind.REHEARSAL else _boots(len(arms), trial),
    )


def _other_arms(
    name: str, trial: Trial, engine: Engine, environ: Mapping[str, str], kind: Kind, production: Arm
) -> list[Arm]:
    if kind is Kind.REHEARSAL:
        return []
    if kind is Kind.NOISE:
        return [Arm(AGAIN, {}, production.spec)]
    arms = [production]
    for variant, overrides in trial.variant.items():
        spec = plan(trial.engine, engine, overrides, environ=environ)
        twin = next((arm.name for arm in arms if arm.spec.fingerprint == spec.fingerprint), None)
        if twin is not None:
            raise UsageError(
                f"trial {name}: variant {variant} would launch exactly what {twin} launches.",
                hint="Override a knob that changes the command, the environment or the image.",
            )
        arms.append(Arm(variant, dict(overrides), spec))
    return arms[1:]


async def with_memory(promise: Promise, site: Site) -> Promise:
    """The promise with what only the running production can tell (its image's content), asked before it is stopped."""
    assert site.launcher is not None
    remembered = await site.launcher.remembered(promise.production)
    production = msgspec.structs.replace(promise.arms[0], spec=remembered)
    return msgspec.structs.replace(promise, arms=(production, *promise.arms[1:]))


async def refuse_what_cannot_work(promise: Promise, site: Site, home: Home, available_bytes: int | None) -> None:
    """Look at the world; raise before anything is touched when production could not be put back or is not well."""
    _refuse_while_something_is_owed(home)
    assert site.launcher is not None
    why = await site.launcher.recreatable(promise.production)
    if why:
        raise UsageError(
            f"production could not be recreated: {why}", hint="Nothing was touched. Make it launchable, then try again."
        )
    await _refuse_unless_as_configured(promise, site)
    await refuse_unless_ready(site)
    _refuse_low_memory(promise, available_bytes)
    await refuse_arms_that_cannot_start(promise, site)
    await refuse_arms_that_do_not_fit(promise, site, home)


def _boots(arms: int, trial: Trial) -> tuple[Boot, ...]:
    if trial.order == "ABBA":
        return schedule(arms, trial.boots)
    draw = random.Random(trial.seed)  # noqa: S311 - the order of arms is drawn by the trial's own seed, on purpose
    return tuple(Boot(block, arm) for block in range(trial.boots) for arm in draw.sample(range(arms), arms))


def _window(name: str, trial: Trial) -> None:
    try:
        parse_window(trial.window)
    except ValueError as error:
        raise UsageError(f"trial.{name}.window: {error}.") from error


def _refuse_while_something_is_owed(home: Home) -> None:
    debts = owed(home)
    if debts:
        raise NotRestored(
            f"trial {debts[0].id} ended without putting production back.",
            hint="Run `pitstop trial recover` first; it finishes the restore.",
        )


async def _refuse_unless_as_configured(promise: Promise, site: Site) -> None:
    assert site.launcher is not None
    name, ordered = promise.engine_name, promise.production
    stranger = await site.launcher.foreign_listener(ordered)
    if stranger:
        raise UsageError(
            f"port {ordered.port} of engine {name} is served by {stranger}, which pitstop did not launch.",
            hint=f"Nothing was touched. Stop it and run `pitstop up {name}`, so that production can be restored.",
        )
    found = await site.launcher.inspect(ordered)
    if found is None:
        raise EngineFailed(
            f"production ({name}) is not up.", hint=f"Start it with `pitstop up {name}`, then try again."
        )
    if found.fingerprint != ordered.fingerprint:
        raise UsageError(
            f"production runs as {found.fingerprint}, but the configuration says {ordered.fingerprint}: "
            "a knob, the command or the image differs.",
            hint=f"Nothing was touched. Run `pitstop restart {name}` to make them equal, or correct the file.",
        )


def _refuse_low_memory(promise: Promise, available_bytes: int | None) -> None:
    floor = promise.trial.guard.min_available
    if available_bytes is not None and available_bytes < floor:
        raise UsageError(
            f"only {format_size(available_bytes)} are available now, less than the guard's floor of "
            f"{format_size(floor)}: the guard would stop production's own settings.",
            hint=f"Free memory, or lower trial.{promise.name}.guard.min_available.",
        )
