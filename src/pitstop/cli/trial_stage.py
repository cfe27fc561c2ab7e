"""Puts a trial together for the command line: configuration, lease, live view, ledger."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

import msgspec

from pitstop.cli.ledger import opened_ledger
from pitstop.cli.live import LiveView
from pitstop.cli.shell import Shell
from pitstop.client.loop import run
from pitstop.core.config.patch import Patch
from pitstop.core.documents import TrialDocument
from pitstop.core.errors import Interrupted, LeaseHeld, NotRestored, PitstopError, UsageError
from pitstop.engines.procfs import read_memory
from pitstop.ledger.store import Ledger
from pitstop.rulers.quality.task_set import own_set
from pitstop.services.neighbours import neighbours_of
from pitstop.services.notify import notify
from pitstop.services.site import Site, site_of
from pitstop.services.trial.conduct import Stage, conduct, recover, take_lease
from pitstop.services.trial.crew import real_crew
from pitstop.services.trial.folder import TrialFolder
from pitstop.services.trial.prepare import Kind, draw_up, refuse_what_cannot_work, trial_named, with_memory
from pitstop.services.trial.promise import Promise
from pitstop.services.trial.roles import Unfit, as_it_should_be
from pitstop.supply.patch_launch import refuse_unfit, unfit


def drawn_up(shell: Shell, name: str, window: str = "", kind: Kind = Kind.VARIANTS) -> tuple[Promise, Site]:
    """The trial as a value, and where production stands. Nothing is touched."""
    config = shell.config()
    trial = trial_named(config, name)
    if window:
        trial = msgspec.structs.replace(trial, window=window)
    engine = config.engine[trial.engine]
    promise = draw_up(name, trial, engine, os.environ, datetime.now(UTC), kind)
    for arm in promise.arms:
        run(refuse_unfit(config.patch, arm.spec))
    promise = msgspec.structs.replace(promise, notify=config.host.notify, ledger_url_env=config.host.ledger_url_env)
    return promise, site_of(trial.engine, engine, shell.home(), os.environ)


def why_refused(shell: Shell, promise: Promise, site: Site) -> str:
    """Why the trial would be refused as things are now; "" when it would begin."""
    try:
        _refuse(shell, promise, site)
    except PitstopError as error:
        return error.message
    return ""


def conducted(shell: Shell, promise: Promise, site: Site) -> TrialDocument:
    """Run the trial to its end under a lease and a live view."""
    stage, view = _stage(shell, promise, site, partial(_unfit, shell.config().patch))
    lease = take_lease(stage, promise)
    folder = TrialFolder(stage.home.trials / promise.id)
    try:
        _refuse(shell, promise, site)
        promise = run(with_memory(promise, site))
        folder.create(promise)
    except BaseException:
        lease.release()
        raise
    with _help_called(shell, promise, folder), view.shown(len(promise.boots)):
        document = run(conduct(stage, folder, promise, lease))
    if not document.production.restored:
        _call_for_help(shell, promise)
    return document


@contextlib.contextmanager
def _help_called(shell: Shell, promise: Promise, folder: TrialFolder) -> Iterator[None]:
    """A fault that gets past everything else must not leave production down in silence.

    Whoever took the lease over, or asked for the end, knows that a restore is owed.
    """
    try:
        yield
    except (LeaseHeld, Interrupted):
        raise
    except Exception as error:
        if not folder.owes_restore():
            raise
        _call_for_help(shell, promise)
        words, hint = (error.message, error.hint) if isinstance(error, PitstopError) else (repr(error), "")
        again = hint or "Run `pitstop trial recover`."
        raise NotRestored(f"production ({promise.engine_name}) may be down: {words}", hint=again) from error


def _refuse(shell: Shell, promise: Promise, site: Site) -> None:
    """Raise before anything is touched; production whose patch is wrong is no measure for anybody."""
    _refuse_unreadable_tasks(promise)
    run(refuse_what_cannot_work(promise, site, shell.home(), read_memory().available_bytes))
    if words := run(_unfit(shell.config().patch, site)):
        raise UsageError(
            f"production ({promise.engine_name}) runs with a wrong patch: {words}.",
            hint=f"Nothing was touched. Look with `pitstop patch verify {promise.engine_name}`.",
        )


def _refuse_unreadable_tasks(promise: Promise) -> None:
    """Own tasks are read when they are asked, which is when production is down already."""
    quality = promise.trial.quality
    if promise.boots and quality and quality.tasks and "quality" in promise.trial.rulers:
        own_set(quality)


async def _unfit(patches: Mapping[str, Patch], site: Site) -> str:
    return await unfit(patches, site.launcher, site.spec) if site.launcher and site.spec else ""


def recovered(shell: Shell, folder: TrialFolder) -> TrialDocument:
    """Finish the restore of a trial whose process is gone, from what lies in its folder.

    LeaseHeld while it still runs; NotRestored when not even the attempt was possible.
    """
    promise = folder.promise()
    with _help_called(shell, promise, folder):
        document = _recovered(shell, folder, promise)
    if not document.production.restored:
        _call_for_help(shell, promise)
    return document


def _recovered(shell: Shell, folder: TrialFolder, promise: Promise) -> TrialDocument:
    site = site_of(promise.engine_name, promise.engine, shell.home(), os.environ).with_spec(promise.production)
    stage, view = _stage(shell, promise, site)
    with view.shown(len(promise.boots)):
        return run(recover(stage, folder))


def _call_for_help(shell: Shell, promise: Promise) -> None:
    """Production is not back: tell the people whom the configuration named when the trial began."""
    title = f"pitstop: production ({promise.engine_name}) is NOT back"
    body = f"Trial {promise.id} could not restore it. A person is needed; then: pitstop trial recover"
    problem = run(notify(promise.notify, os.environ, title, body))
    if problem:
        shell.note(f"warning: {problem}")


def _stage(shell: Shell, promise: Promise, site: Site, unfit: Unfit = as_it_should_be) -> tuple[Stage, LiveView]:
    arms = [arm.name for arm in promise.arms]
    view = LiveView(arms, shell.console(stderr=True), available=lambda: read_memory().available_bytes)
    home = shell.home()

    def open_ledger() -> Ledger:
        return opened_ledger(shell, promise.ledger_url_env)

    neighbours = _neighbours(shell, site)
    crew = real_crew(home, lambda: datetime.now(UTC), view.say, view.progress, open_ledger, neighbours, unfit)
    return Stage(home, site, crew, view, open_ledger, time.monotonic), view


def _neighbours(shell: Shell, site: Site) -> list[Site]:
    """The other engines of the configuration; a recovery needs no configuration, and measures nothing."""
    try:
        return neighbours_of(shell.config_or_empty(), shell.home(), os.environ, [site])
    except PitstopError:
        return []
