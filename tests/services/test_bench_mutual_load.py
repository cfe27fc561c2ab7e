"""What mutual-load itself sends to the other engine is no foreign traffic there."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pitstop.core.config.engine import Engine
from pitstop.core.errors import UsageError
from pitstop.services.bench import Assignment, measure
from pitstop.services.site import Site
from support.benches import bench_for
from support.paced import PacedServer
from support.paced import Site as PacedSite
from support.script import Pace

FAST = Pace(rate_tok_s=1000, ttft_s=0.005)


def site_of(server):
    bench = bench_for(server)
    config = Engine(kind="vllm", model=server.site.model, base_url=server.base_url)
    return Site(server.site.model, config, bench.endpoint, bench.adapter, None, None, {})


async def measured(one, two):
    settings = replace(bench_for(one).settings, concurrency=(2,), runs=1, max_tokens=8)
    assignment = Assignment(run_id="run", rulers=("mutual-load",), settings=settings, repeats=0)
    return await measure(site_of(one), assignment, now=lambda: datetime.now(UTC), others=[site_of(two)])


async def test_our_own_load_on_the_other_engine_is_not_foreign():
    with PacedServer(FAST, PacedSite("a")) as one, PacedServer(FAST, PacedSite("b")) as two:
        document = await measured(one, two)
    assert document.conditions["foreign_requests"] == 0
    assert {f"{name}/c2/{how}" for name in "ab" for how in ("alone", "shared")} <= {r.case for r in document.requests}
    assert "foreign-requests" not in {notice.code for notice in document.warnings}


async def test_an_engine_is_not_measured_beside_itself():
    with PacedServer(FAST) as one, pytest.raises(UsageError, match="beside itself"):
        await measured(one, one)


async def test_somebody_else_s_request_on_the_other_engine_still_is():
    class Visited(PacedServer):
        def _metrics(self):
            self._counts.finished += 1
            self._counts.generated += 100
            return super()._metrics()

    with PacedServer(FAST, PacedSite("a")) as one, Visited(FAST, PacedSite("b")) as two:
        document = await measured(one, two)
    assert document.conditions["foreign_requests"] > 0
