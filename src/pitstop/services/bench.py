"""Measures one engine by some rulers, and keeps with every figure which engine it was and in what conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from pitstop.core.documents import EngineIdentity, Figure, Notice, RunDocument, Status
from pitstop.decisions.identity import mismatch
from pitstop.engines.adapter import Capabilities
from pitstop.engines.conditions import Conditions, snapshot
from pitstop.rulers.nonce import Nonces
from pitstop.rulers.registry import ruler_for
from pitstop.rulers.ruler import Bench, Progress, RulerResult, Settings, no_progress
from pitstop.services.foreign import ForeignCount
from pitstop.services.site import Site

Save = Callable[[RunDocument], None]


def unsaved(_document: RunDocument) -> None:
    """Keep nothing between rulers."""


@dataclass(frozen=True)
class Assignment:
    """What is to be measured. `ordered` is the fingerprint that must answer; None for a server launched by others."""

    run_id: str
    rulers: Sequence[str]
    settings: Settings = field(default_factory=Settings)
    ordered: str | None = None
    via_gateway: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


async def measure(
    site: Site,
    assignment: Assignment,
    *,
    clock: Callable[[], str],
    progress: Progress = no_progress,
    save: Save = unsaved,
    others: Sequence[Site] = (),
) -> RunDocument:
    """Measure `site` by every ruler in turn; `save` is called after each, so that a crash costs only the last one.

    The engine's identity is read before and after each ruler. Changed, or not the one ordered: invalid, and why.
    """
    for name in assignment.rulers:
        ruler_for(name)
    capabilities = await site.adapter.capabilities(site.endpoint)
    bench = _bench(site, assignment, capabilities, progress, others)
    document = await _opened(site, assignment, capabilities, clock)
    foreign = await ForeignCount.begin((site, *others))
    before = snapshot()
    for name in assignment.rulers:
        _add(document, *await _one_ruler(site, bench, name, assignment.ordered))
        document.conditions = _conditions(before, snapshot(), await foreign.so_far(len(document.requests), site))
        save(document)
    _warn_of_foreign_requests(document)
    return document


async def _one_ruler(
    site: Site, bench: Bench, name: str, ordered: str | None
) -> tuple[RulerResult, EngineIdentity, str]:
    before = await site.identity()
    result = await ruler_for(name).measure(bench)
    after = await site.identity()
    return result, after, mismatch(ordered, before, after)


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


async def _opened(
    site: Site, assignment: Assignment, capabilities: Capabilities, clock: Callable[[], str]
) -> RunDocument:
    settings = msgspec.to_builtins(assignment.settings, enc_hook=str)
    return RunDocument(
        id=assignment.run_id,
        started_at=clock(),
        engine=await site.identity(),
        settings={
            "rulers": list(assignment.rulers),
            "via_gateway": assignment.via_gateway,
            **settings,
            **assignment.extra,
        },
        host={"capabilities": msgspec.to_builtins(capabilities)},
    )


def _add(document: RunDocument, result: RulerResult, after: EngineIdentity, invalid: str) -> None:
    figures = [_invalidated(figure, invalid) for figure in result.figures] if invalid else result.figures
    document.figures += figures
    document.requests += result.requests
    document.warnings += result.warnings
    if invalid:
        document.engine = after if document.engine.fingerprint is None else document.engine
        document.warnings.append(Notice(code="wrong-engine", text=invalid))


def _invalidated(figure: Figure, reason: str) -> Figure:
    return msgspec.structs.replace(figure, status=Status.INVALID, reason=reason)


def _conditions(before: Conditions, after: Conditions, foreign: int | None) -> dict[str, Any]:
    return {
        "before": msgspec.to_builtins(before),
        "after": msgspec.to_builtins(after),
        "foreign_requests": foreign,
    }


def _warn_of_foreign_requests(document: RunDocument) -> None:
    foreign = document.conditions.get("foreign_requests")
    if foreign:
        text = f"{foreign} request(s) of others were served during this run; its figures describe a shared machine."
        document.warnings.append(Notice(code="contaminated", text=text))
