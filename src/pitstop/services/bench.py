"""Measures one engine by some rulers, and keeps with every figure which engine it was and in what conditions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from pitstop.core.documents import Figure, Notice, RequestRecord, RunDocument, Status
from pitstop.core.errors import UsageError
from pitstop.decisions.identity import mismatch
from pitstop.engines.adapter import Capabilities
from pitstop.rulers.nonce import Nonces
from pitstop.rulers.registry import rulers_for
from pitstop.rulers.ruler import Bench, Progress, Ruler, RulerResult, no_progress
from pitstop.services.assignment import Assignment
from pitstop.services.physical_limit import reads_of
from pitstop.services.readiness import refuse_unless_ready
from pitstop.services.run_document import missing_rulers, opened
from pitstop.services.site import Site
from pitstop.services.surroundings import Look, Surroundings, between, look, traffic_of

Save = Callable[[RunDocument], None]
Elsewhere = dict[str, list[RequestRecord]]  # by base URL
FOREIGN = "foreign-requests"  # the label of a ruler's run that others disturbed
WRONG_ENGINE = "wrong-engine"
LOOK_AGAIN_S = (0.1, 0.5)  # engines publish what they counted some time after the reply, vLLM after its next step
# Others' requests change no answer, and no ruler of hours is repeated for them.
_TIMES_NOTHING = frozenset({"quality"})


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
    interrupted: RunDocument | None = None,
) -> RunDocument:
    """Measure `site` by every ruler in turn; `save` is called after each, so that a crash costs only the last one.

    The engine's identity is read before and after each ruler. Changed, or not the one ordered: invalid, and why. An
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
    await _by_every_ruler(site, bench, document, assignment, save, others)
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
    site: Site, bench: Bench, document: RunDocument, assignment: Assignment, save: Save, others: Sequence[Site]
) -> None:
    sites, earlier = (site, *others), document.conditions
    first = await look(sites)
    sent: list[RequestRecord] = []
    elsewhere: Elsewhere = {}
    for ruler in rulers_for(missing_rulers(document, assignment.rulers)):
        result = await _undisturbed(site, bench, ruler, assignment, sites)
        document.figures += result.figures
        document.requests += [*result.requests, *(one for each in result.elsewhere.values() for one in each)]
        document.warnings += [notice for notice in result.warnings if notice not in document.warnings]
        document.tasks = result.tasks or document.tasks
        sent += result.requests
        _merge(elsewhere, result.elsewhere)
        since = await _since(first, site, sites, sent, elsewhere)
        document.conditions = since.record(earlier)
        save(document)


async def _undisturbed(
    site: Site, bench: Bench, ruler: Ruler, assignment: Assignment, sites: Sequence[Site]
) -> RulerResult:
    """Measure until nothing disturbed the box meanwhile, or the repeats are used up; then the figures are labelled."""
    kept = RulerResult()
    for left in range(assignment.repeats, -1, -1):
        result, notices = await _once(site, bench, ruler, assignment.ordered, sites)
        kept.requests += result.requests
        _merge(kept.elsewhere, result.elsewhere)
        disturbed = _disturbances(ruler, assignment, notices)
        if disturbed and left:
            kept.warnings.append(Notice(code=disturbed[0].code, text=f"{ruler.name} is repeated: {disturbed[0].text}"))
            continue
        doubt = f"the box was not clean: {'; '.join(notice.text for notice in disturbed)}" if disturbed else ""
        kept.figures = [_doubted(figure, doubt) for figure in result.figures] if doubt else result.figures
        kept.warnings += [*result.warnings, *notices]
        kept.tasks = result.tasks
        break
    return kept


def _disturbances(ruler: Ruler, assignment: Assignment, notices: Sequence[Notice]) -> list[Notice]:
    """What makes these figures those of another box: others' requests, compaction, swap, clocks held down."""
    if ruler.name in _TIMES_NOTHING:
        return []
    harmless = {WRONG_ENGINE, FOREIGN} if assignment.via_gateway else {WRONG_ENGINE}
    return [notice for notice in notices if notice.code not in harmless]


async def _once(
    site: Site, bench: Bench, ruler: Ruler, ordered: str | None, sites: Sequence[Site]
) -> tuple[RulerResult, tuple[Notice, ...]]:
    looked, before = await look(sites), await site.identity()
    result = await ruler.measure(bench)
    after = await site.identity()
    around = await _since(looked, site, sites, result.requests, result.elsewhere)
    invalid = mismatch(ordered, before, after) or around.foreign[site.name].reset
    if invalid:
        result.figures = [_invalidated(figure, invalid) for figure in result.figures]
        return result, (Notice(code=WRONG_ENGINE, text=invalid),)
    return result, around.notices()


async def _since(
    first: Look, site: Site, sites: Sequence[Site], requests: Sequence[RequestRecord], elsewhere: Elsewhere
) -> Surroundings:
    """What others did; what a ruler itself sent to another engine (mutual-load) is no foreign traffic there.

    Foreign traffic is looked at again before it is believed: it stays, where counters that lag catch up.
    """
    ours = {one.name: traffic_of(elsewhere[url]) for one in sites if (url := one.endpoint.base_url) in elsewhere}
    ours[site.name] = traffic_of(requests)
    around = between(first, await look(sites), ours)
    for pause_s in LOOK_AGAIN_S:
        if all(notice.code != FOREIGN for notice in around.notices()):
            break
        await asyncio.sleep(pause_s)
        around = between(first, await look(sites), ours)
    return around


def _merge(kept: Elsewhere, more: Elsewhere) -> None:
    for url, records in more.items():
        kept.setdefault(url, []).extend(records)


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


def _invalidated(figure: Figure, reason: str) -> Figure:
    return msgspec.structs.replace(figure, status=Status.INVALID, reason=reason)


def _doubted(figure: Figure, reason: str) -> Figure:
    if figure.status not in (Status.OK, Status.UNVERIFIED):
        return figure
    told = "; ".join(filter(None, (figure.reason, reason)))
    return msgspec.structs.replace(figure, status=Status.UNVERIFIED, reason=told)
