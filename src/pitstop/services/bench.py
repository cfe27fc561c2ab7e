"""Measures one engine by some rulers, and keeps with every figure which engine it was and in what conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pitstop.core.documents import Notice, RequestRecord, RunDocument
from pitstop.core.errors import UsageError
from pitstop.engines.adapter import Capabilities
from pitstop.rulers.nonce import Nonces
from pitstop.rulers.registry import rulers_for
from pitstop.rulers.ruler import Bench, Progress, no_progress
from pitstop.services.assignment import Assignment
from pitstop.services.neighbours import those_up
from pitstop.services.physical_limit import reads_of
from pitstop.services.readiness import refuse_unless_ready
from pitstop.services.run_document import missing_rulers, opened
from pitstop.services.site import Site
from pitstop.services.surroundings import look
from pitstop.services.undisturbed import Elsewhere, merge, since, undisturbed

Save = Callable[[RunDocument], None]


def unsaved(_document: RunDocument) -> None:
    """Keep nothing between rulers."""


async def measure(
    site: Site,
    assignment: Assignment,
    *,
    now: Callable[[], datetime],
    progress: Progress = no_progress,
    save: Save = unsaved,
    others: Sequence[Site] = (),
    neighbours: Sequence[Site] = (),
    interrupted: RunDocument | None = None,
) -> RunDocument:
    """Measure `site` by every ruler in turn; `save` is called after each, so that a crash costs only the last one.

    The engine's identity is read before and after each ruler. Changed, or not the one ordered: invalid, and why.
    `others` are kept busy by mutual-load; they and the `neighbours` are watched for requests of others. An
    `interrupted` run goes on with the rulers that it lacks; UsageError names what is not as it was.
    """
    rulers_for(assignment.rulers)  # a misspelt one is refused before anything is asked
    _refuse_the_same_twice([site, *others])
    await refuse_unless_ready(site)
    capabilities = await site.adapter.capabilities(site.endpoint)
    document = await opened(site, assignment, capabilities, now(), interrupted)
    save(document)
    reads, notices = await reads_of(site, assignment.host)
    notices = (*notices, *_whole_path(site, assignment))
    document.warnings += [notice for notice in notices if notice not in document.warnings]
    bench = _bench(site, assignment, capabilities, progress, others, _nonces(assignment, document))
    bench = replace(bench, reads=reads, answered=tuple(document.tasks), keep=_keeper(document, save))
    watched = (site, *others, *await those_up(neighbours))
    await _by_every_ruler(watched, bench, document, assignment, save)
    return document


def _whole_path(site: Site, assignment: Assignment) -> tuple[Notice, ...]:
    if not assignment.via_gateway:
        return ()
    text = f"measured through {site.endpoint.base_url}: the whole path and others' load on it, not the engine alone"
    return (Notice(code="via-gateway", text=text),)


def _refuse_the_same_twice(sites: Sequence[Site]) -> None:
    reached = [(one.endpoint.base_url, one.endpoint.model) for one in sites]
    if len(set(reached)) < len(reached):
        raise UsageError("an engine cannot be measured beside itself.", hint="Name another one with --with.")


async def _by_every_ruler(
    sites: Sequence[Site], bench: Bench, document: RunDocument, assignment: Assignment, save: Save
) -> None:
    site, earlier = sites[0], document.conditions
    first = await look(sites)
    sent: list[RequestRecord] = []
    elsewhere: Elsewhere = {}
    for ruler in rulers_for(missing_rulers(document, assignment.rulers)):
        result = await undisturbed(site, bench, ruler, assignment, sites)
        document.figures += result.figures
        document.requests += [*result.requests, *(one for each in result.elsewhere.values() for one in each)]
        document.warnings += [notice for notice in result.warnings if notice not in document.warnings]
        document.tasks = result.tasks or document.tasks
        sent += result.requests
        merge(elsewhere, result.elsewhere)
        around = await since(first, site, sites, sent, elsewhere)
        document.conditions = around.record(earlier)
        save(document)


def _bench(
    site: Site,
    assignment: Assignment,
    capabilities: Capabilities,
    progress: Progress,
    others: Sequence[Site],
    nonces: Nonces,
) -> Bench:
    bench = Bench(
        endpoint=site.endpoint,
        adapter=site.adapter,
        capabilities=capabilities,
        settings=assignment.settings,
        progress=progress,
        thinking_switch=site.config.thinking,
        supports=site.config.supports,
        nonces=nonces,
    )
    beside = tuple(_bench(other, assignment, Capabilities(), no_progress, (), nonces) for other in others)
    return replace(bench, others=beside)


def _nonces(assignment: Assignment, document: RunDocument) -> Nonces:
    """Those of a continued run are others than those that it sent before it was interrupted."""
    continued = len(document.settings.get("resumed_at", ()))
    return Nonces(assignment.settings.seed, f"{document.id}+{continued}" if continued else document.id)


def _keeper(document: RunDocument, save: Save) -> Callable[[Any], None]:
    def keep(task: Any) -> None:
        document.tasks.append(task)
        save(document)

    return keep
