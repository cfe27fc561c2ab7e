"""Measures one engine by some rulers, and keeps with every figure which engine it was and in what conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from pitstop.core.documents import Figure, Notice, RequestRecord, RunDocument, Status
from pitstop.decisions.identity import mismatch
from pitstop.engines.adapter import Capabilities
from pitstop.rulers.nonce import Nonces
from pitstop.rulers.registry import rulers_for
from pitstop.rulers.ruler import Bench, Progress, Ruler, RulerResult, Settings, no_progress
from pitstop.services.readiness import refuse_unless_ready
from pitstop.services.site import Site
from pitstop.services.surroundings import Look, Surroundings, between, look, traffic_of

Save = Callable[[RunDocument], None]
Elsewhere = dict[str, list[RequestRecord]]  # by base URL
FOREIGN = "foreign-requests"  # the label of a ruler's run that others disturbed


def unsaved(_document: RunDocument) -> None:
    """Keep nothing between rulers."""


@dataclass(frozen=True)
class Assignment:
    """What is to be measured. `ordered` is the fingerprint that must answer; None for a server launched by others."""

    run_id: str
    rulers: Sequence[str]
    settings: Settings = field(default_factory=Settings)
    ordered: str | None = None
    via_gateway: bool = False  # then others' requests are part of what is measured
    repeats: int = 2  # of a ruler that others disturbed, before it is reported as it is
    extra: dict[str, Any] = field(default_factory=dict)


async def measure(
    site: Site,
    assignment: Assignment,
    *,
    now: Callable[[], datetime],
    progress: Progress = no_progress,
    save: Save = unsaved,
    others: Sequence[Site] = (),
) -> RunDocument:
    """Measure `site` by every ruler in turn; `save` is called after each, so that a crash costs only the last one.

    The engine's identity is read before and after each ruler. Changed, or not the one ordered: invalid, and why.
    """
    rulers = rulers_for(assignment.rulers)
    await refuse_unless_ready(site)
    capabilities = await site.adapter.capabilities(site.endpoint)
    bench = _bench(site, assignment, capabilities, progress, others)
    document = await _opened(site, assignment, capabilities, now())
    sites = (site, *others)
    first = await look(sites)
    elsewhere: Elsewhere = {}
    for ruler in rulers:
        result = await _undisturbed(site, bench, ruler, assignment, sites)
        document.figures += result.figures
        document.requests += result.requests
        document.warnings += result.warnings
        _merge(elsewhere, result.elsewhere)
        document.conditions = (await _since(first, site, sites, document.requests, elsewhere)).record()
        save(document)
    return document


async def _undisturbed(
    site: Site, bench: Bench, ruler: Ruler, assignment: Assignment, sites: Sequence[Site]
) -> RulerResult:
    """Measure until nobody else used the box meanwhile, or the repeats are used up; then the figures are labelled."""
    kept = RulerResult()
    for left in range(assignment.repeats, -1, -1):
        result, notices = await _once(site, bench, ruler, assignment.ordered, sites)
        kept.requests += result.requests
        _merge(kept.elsewhere, result.elsewhere)
        disturbed = [notice for notice in notices if notice.code == FOREIGN] if not assignment.via_gateway else []
        if disturbed and left:
            kept.warnings.append(Notice(code=FOREIGN, text=f"{ruler.name} is repeated: {disturbed[0].text}"))
            continue
        doubt = f"measured beside others: {disturbed[0].text}" if disturbed else ""
        kept.figures = [_doubted(figure, doubt) for figure in result.figures] if doubt else result.figures
        kept.warnings += [*result.warnings, *notices]
        break
    return kept


async def _once(
    site: Site, bench: Bench, ruler: Ruler, ordered: str | None, sites: Sequence[Site]
) -> tuple[RulerResult, tuple[Notice, ...]]:
    looked, before = await look(sites), await site.identity()
    result = await ruler.measure(bench)
    after = await site.identity()
    around = await _since(looked, site, sites, result.requests, result.elsewhere)
    invalid = mismatch(ordered, before, after)
    if invalid:
        result.figures = [_invalidated(figure, invalid) for figure in result.figures]
        return result, (Notice(code="wrong-engine", text=invalid),)
    return result, around.notices()


async def _since(
    first: Look, site: Site, sites: Sequence[Site], requests: Sequence[RequestRecord], elsewhere: Elsewhere
) -> Surroundings:
    """What others did; what a ruler itself sent to another engine (mutual-load) is no foreign traffic there."""
    ours = {one.name: traffic_of(elsewhere[url]) for one in sites if (url := one.endpoint.base_url) in elsewhere}
    return between(first, await look(sites), {**ours, site.name: traffic_of(requests)})


def _merge(kept: Elsewhere, more: Elsewhere) -> None:
    for url, records in more.items():
        kept.setdefault(url, []).extend(records)


def _bench(
    site: Site, assignment: Assignment, capabilities: Capabilities, progress: Progress, others: Sequence[Site]
) -> Bench:
    bench = Bench(
        endpoint=site.endpoint,
        adapter=site.adapter,
        capabilities=capabilities,
        settings=assignment.settings,
        progress=progress,
        thinking_switch=site.config.thinking,
        supports=site.config.supports,
        nonces=Nonces(assignment.settings.seed, assignment.run_id),
    )
    beside = tuple(_bench(other, assignment, Capabilities(), no_progress, ()) for other in others)
    return replace(bench, others=beside)


async def _opened(site: Site, assignment: Assignment, capabilities: Capabilities, now: datetime) -> RunDocument:
    settings = msgspec.to_builtins(assignment.settings, enc_hook=str)
    asked = {"rulers": list(assignment.rulers), "via_gateway": assignment.via_gateway}
    return RunDocument(
        id=assignment.run_id,
        started_at=now.isoformat(timespec="milliseconds"),
        engine=await site.identity(),
        settings={**asked, **settings, **assignment.extra},
        host={"capabilities": msgspec.to_builtins(capabilities)},
    )


def _invalidated(figure: Figure, reason: str) -> Figure:
    return msgspec.structs.replace(figure, status=Status.INVALID, reason=reason)


def _doubted(figure: Figure, reason: str) -> Figure:
    if figure.status is not Status.OK:
        return figure
    return msgspec.structs.replace(figure, status=Status.UNVERIFIED, reason=reason)
