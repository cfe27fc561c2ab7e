"""Puts a trial together for the command line: configuration, lease, live view, ledger."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

import msgspec

from pitstop.cli.live import LiveView
from pitstop.cli.shell import Shell
from pitstop.client.loop import run
from pitstop.core.documents import TrialDocument
from pitstop.core.errors import PitstopError
from pitstop.launch.memory_back import read_memory
from pitstop.ledger.store import Ledger
from pitstop.services.notify import notify
from pitstop.services.site import Site, site_of
from pitstop.services.trial.conduct import Stage, conduct, recover, take_lease
from pitstop.services.trial.crew import real_crew
from pitstop.services.trial.folder import TrialFolder
from pitstop.services.trial.prepare import Kind, draw_up, refuse_what_cannot_work, trial_named, with_memory
from pitstop.services.trial.promise import Promise


def drawn_up(shell: Shell, name: str, window: str = "", kind: Kind = Kind.VARIANTS) -> tuple[Promise, Site]:
    """The trial as a value, and where production stands. Nothing is touched."""
    config = shell.config()
    trial = trial_named(config, name)
    if window:
        trial = msgspec.structs.replace(trial, window=window)
    engine = config.engine[trial.engine]
    promise = draw_up(name, trial, engine, os.environ, datetime.now(UTC), kind)
    return promise, site_of(trial.engine, engine, shell.home(), os.environ)


def conducted(shell: Shell, promise: Promise, site: Site) -> TrialDocument:
    """Run the trial to its end under a lease and a live view."""
    stage, view = _stage(shell, promise, site)
    lease = take_lease(stage, promise)
    folder = TrialFolder(stage.home.trials / promise.id)
    try:
        run(refuse_what_cannot_work(promise, site, stage.home, read_memory().available_bytes))
        promise = run(with_memory(promise, site))
        folder.create(promise)
    except BaseException:
        lease.release()
        raise
    with view.shown(len(promise.boots)):
        document = run(conduct(stage, folder, promise, lease))
    _call_for_help(shell, document)
    return document


def recovered(shell: Shell, folder: TrialFolder) -> TrialDocument:
    """Finish the restore of a trial whose process is gone, from what lies in its folder."""
    promise = folder.promise()
    site = site_of(promise.engine_name, promise.engine, shell.home(), os.environ).with_spec(promise.production)
    stage, view = _stage(shell, promise, site)
    with view.shown(len(promise.boots)):
        document = run(recover(stage, folder))
    _call_for_help(shell, document)
    return document


def ledger_of(shell: Shell) -> Ledger:
    """The ledger: SQLite under the state folder, or where the configuration points to."""
    config = shell.config_or_empty()
    url = os.environ.get(config.host.ledger_url_env, "") if config.host.ledger_url_env else ""
    return Ledger.open(url or shell.home().ledger)


def _call_for_help(shell: Shell, document: TrialDocument) -> None:
    """When production is not back, tell the people whom the configuration names."""
    if document.production.restored:
        return
    try:
        names = shell.config_or_empty().host.notify
    except PitstopError:
        names = ()  # the file may be broken by now; the exit code and the message still say it
    title = f"pitstop: production ({document.production.engine}) is NOT back"
    body = f"Trial {document.id} could not restore it. A person is needed; then: pitstop trial recover"
    problem = run(notify(names, os.environ, title, body))
    if problem:
        shell.note(f"warning: {problem}")


def _stage(shell: Shell, promise: Promise, site: Site) -> tuple[Stage, LiveView]:
    view = LiveView([arm.name for arm in promise.arms], shell.console(stderr=True))
    home = shell.home()
    crew = real_crew(home, lambda: datetime.now(UTC), view.say, view.progress)
    return Stage(home, site, crew, view, lambda: ledger_of(shell), time.time), view
