"""One ruler measured on a clean box: repeated while something disturbs it, labelled when it stays so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from pitstop.core.documents import Figure, Notice, RequestRecord, Status
from pitstop.decisions.identity import mismatch
from pitstop.rulers.ruler import Bench, Ruler, RulerResult
from pitstop.services.assignment import Assignment
from pitstop.services.site import Site
from pitstop.services.surroundings import Look, Surroundings, between, look, traffic_of

Elsewhere = dict[str, list[RequestRecord]]  # by base URL
FOREIGN = "foreign-requests"  # the label of a ruler's run that others disturbed
WRONG_ENGINE = "wrong-engine"
LOOK_AGAIN_S = (0.1, 0.5)  # engines publish what they counted some time after the reply, vLLM after its next step
# Others' requests change no answer, and no ruler of hours is repeated for them.
_TIMES_NOTHING = frozenset({"quality"})


async def undisturbed(
    site: Site, bench: Bench, ruler: Ruler, assignment: Assignment, sites: Sequence[Site]
) -> RulerResult:
    """Measure until nothing disturbed the box meanwhile, or the repeats are used up; then the figures are labelled."""
    kept = RulerResult()
    for left in range(assignment.repeats, -1, -1):
        result, notices = await _once(site, bench, ruler, assignment.ordered, sites)
        kept.requests += result.requests
        merge(kept.elsewhere, result.elsewhere)
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
    around = await since(looked, site, sites, result.requests, result.elsewhere)
    invalid = mismatch(ordered, before, after) or around.foreign[site.name].reset
    if invalid:
        result.figures = [_invalidated(figure, invalid) for figure in result.figures]
        return result, (Notice(code=WRONG_ENGINE, text=invalid),)
    return result, around.notices()


async def since(
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


def merge(kept: Elsewhere, more: Elsewhere) -> None:
    for url, records in more.items():
        kept.setdefault(url, []).extend(records)


def _invalidated(figure: Figure, reason: str) -> Figure:
    return msgspec.structs.replace(figure, status=Status.INVALID, reason=reason)


def _doubted(figure: Figure, reason: str) -> Figure:
    if figure.status not in (Status.OK, Status.UNVERIFIED):
        return figure
    told = "; ".join(filter(None, (figure.reason, reason)))
    return msgspec.structs.replace(figure, status=Status.UNVERIFIED, reason=told)
