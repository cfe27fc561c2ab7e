"""Variants that cannot be started or cannot fit are found here, while production still serves."""

from __future__ import annotations

import asyncio

from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.decisions.arm_fit import does_not_fit
from pitstop.decisions.plan import Footprint
from pitstop.engines.nvidia_smi import read_gpus
from pitstop.engines.procfs import read_memory
from pitstop.services.plan.facts import facts_of
from pitstop.services.plan.footprint import footprint
from pitstop.services.site import Site
from pitstop.services.trial.promise import Arm, Promise


async def refuse_arms_that_cannot_start(promise: Promise, site: Site) -> None:
    """UsageError for a variant whose image, program or secret is not here."""
    assert site.launcher is not None
    for arm in promise.arms[1:]:
        if why := await site.launcher.startable(arm.spec):
            raise UsageError(
                f"variant {arm.name} of trial {promise.name} could not be started: {why}",
                hint="Nothing was touched. Make it launchable, or take the variant out of the trial.",
            )


async def refuse_arms_that_do_not_fit(promise: Promise, site: Site, home: Home) -> None:
    """UsageError, with the numbers, for a variant that the guard would have to stop.

    Other engines on the box are in what is available now. Memory of a card of its own is not the box's: the engine's
    own start check judges that.
    """
    memory = read_memory()
    gpus, _ = await asyncio.to_thread(read_gpus)
    has_own_memory = any(gpu.memory_used_bytes is not None for gpu in gpus or ())
    if memory.available_bytes is None or memory.total_bytes is None or has_own_memory:
        return
    production = _footprint(promise, promise.arms[0], site, home, memory.total_bytes)
    floor = int(promise.trial.guard.min_available)
    for arm in promise.arms[1:]:
        taken = _footprint(promise, arm, site, home, memory.total_bytes)
        if why := does_not_fit(production, taken, memory.available_bytes, floor):
            raise UsageError(
                f"variant {arm.name} of trial {promise.name} does not fit: {why}.",
                hint=f"Nothing was touched. Give it less, or stop another engine; `pitstop plan {site.name}` adds up.",
            )


def _footprint(promise: Promise, arm: Arm, site: Site, home: Home, total_bytes: int) -> Footprint:
    # A log tells of one boot; for a comparison both arms must be told by the same sources.
    facts = facts_of(arm.spec, home, changed=True)
    return footprint(site.name, promise.engine, arm.spec, facts, home, device_bytes=total_bytes)
