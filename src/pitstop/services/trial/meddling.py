"""Somebody else's hand in a trial: an engine that came up in place of an arm, or an arm that was stopped.

The first report's watchdog did that. What it did is not the arm's result: the block is left out, with a word about who
answered, instead of being held against the arm as a crash would be.
"""

from __future__ import annotations

from pitstop.core.documents import EngineIdentity, Notice, RunDocument
from pitstop.core.errors import EngineFailed, PitstopError
from pitstop.decisions.trial import Boot
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.services.site import Site
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.roles import Stopped
from pitstop.services.undisturbed import WRONG_ENGINE


class NotTheArm(EngineFailed):
    """What came up is not what the arm is meant to be: nothing that it does is the arm's result."""


async def meddled(site: Site, production: LaunchSpec, stopped: Stopped) -> str:
    """Who is up in place of the engine at `site`, or that somebody stopped it; "" when nobody had a hand in it."""
    assert site.spec is not None
    try:
        found = await site.running()
        if found is None:
            words = f"The engine that was ordered ({site.spec.fingerprint}) did not end by itself: somebody stopped it."
            return words if await stopped(site) else ""
        return await another(site, production, found)
    except PitstopError:
        return ""


async def another(site: Site, production: LaunchSpec, found: Running) -> str:
    """Which engine is up in place of the one at `site`, above all whether it is production; "" when it is the same."""
    assert site.spec is not None
    if found.fingerprint == site.spec.fingerprint:
        return ""
    again = await site.with_spec(production).running()
    is_production = again is not None and again.fingerprint == production.fingerprint
    name = f"production's own settings ({production.fingerprint})" if is_production else found.fingerprint
    return (
        f"The engine that is up is not the one that was ordered ({site.spec.fingerprint}): it runs as {name}, "
        f"since {found.started_at}."
    )


def void_run(promise: Promise, boot: Boot, at: str, words: str, begun: RunDocument | None) -> RunDocument:
    """A run that ended because of `words`: whatever was not measured until then is invalid. `begun` is what was."""
    arm = promise.arms[boot.arm]
    if begun is not None:
        begun.warnings.append(Notice(code=WRONG_ENGINE, text=words))
        return begun
    return RunDocument(
        id=f"{promise.id}-{boot.block}-{arm.name}",
        started_at=at,
        engine=EngineIdentity(kind=promise.engine.kind, model=promise.engine.model),
        settings={"arm": arm.name, "overrides": arm.overrides, "block": boot.block},
        warnings=[Notice(code=WRONG_ENGINE, text=words)],
    )
