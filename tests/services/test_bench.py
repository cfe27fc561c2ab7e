"""A whole run against the paced endpoint: conditions, repeats, ceiling, and going on where it was interrupted."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from pitstop.core.config.engine import Engine
from pitstop.core.config.footprint import FootprintHints
from pitstop.core.config.host import Host
from pitstop.core.documents import Notice, RunDocument, Status, encode
from pitstop.core.errors import UsageError
from pitstop.core.units import Size
from pitstop.rulers.decode import Decode
from pitstop.services import bench, undisturbed
from pitstop.services.assignment import Assignment
from pitstop.services.bench import measure
from pitstop.services.site import Site
from pitstop.services.surroundings import Surroundings
from support.benches import bench_for
from support.paced import PacedServer
from support.script import Pace

FAST = Pace(rate_tok_s=1000, ttft_s=0.005)


@pytest.fixture(autouse=True)
def _look_again_soon(monkeypatch):
    monkeypatch.setattr(undisturbed, "LOOK_AGAIN_S", (0.02, 0.02))


def site_of(server, **config):
    template = bench_for(server)
    engine = Engine(kind="vllm", model=server.site.model, base_url=server.base_url, thinking="none", **config)
    return Site("main", engine, template.endpoint, template.adapter, None, None, {})


def assigned(server, *rulers, run_id="run", settings=None, **fields):
    wanted = replace(bench_for(server).settings, **{"runs": 1, "max_tokens": 8, **(settings or {})})
    return Assignment(run_id=run_id, rulers=rulers, settings=wanted, **fields)


async def measured(server, *rulers, site=None, saved=None, interrupted=None, **fields):
    save = (lambda document: saved.append(encode(document))) if saved is not None else bench.unsaved
    return await measure(
        site or site_of(server),
        assigned(server, *rulers, **fields),
        now=lambda: datetime.now(UTC),
        save=save,
        interrupted=interrupted,
    )


def read(content):
    return msgspec.json.decode(content, type=RunDocument)


async def test_the_document_is_written_after_each_ruler():
    saved = []
    with PacedServer(FAST) as server:
        await measured(server, "prefill", "decode", saved=saved)
    assert [{figure.ruler for figure in read(content).figures} for content in saved] == [
        set(),
        {"prefill"},
        {"prefill", "decode"},
    ]


async def test_an_interrupted_run_goes_on_with_the_rulers_that_it_lacks_and_with_other_nonces():
    saved = []
    with PacedServer(FAST) as server:
        await measured(server, "prefill", saved=saved)
        sent = len(server.requests)
        whole = await measured(server, "prefill", "decode", run_id="another", interrupted=read(saved[-1]))
        resumed, before = server.requests[sent:], server.requests[:sent]
    assert whole.id == "run"
    assert [figure.ruler for figure in whole.figures].count("prefill") == 2
    assert {record.case for record in whole.requests if record.ruler == "decode"}
    assert len(whole.settings["resumed_at"]) == 1
    assert whole.settings["rulers"] == ["prefill", "decode"]
    assert whole.conditions["before_resume"]["foreign_requests"] == 0
    assert whole.conditions["foreign_requests"] == 0
    nonces = [{str(request["messages"][0]["content"])[:16] for request in part} for part in (before, resumed)]
    assert not nonces[0] & nonces[1]


async def test_a_run_that_lacks_nothing_is_left_as_it_is():
    saved = []
    with PacedServer(FAST) as server:
        await measured(server, "prefill", saved=saved)
        sent = len(server.requests)
        whole = await measured(server, "prefill", interrupted=read(saved[-1]))
        assert len(server.requests) == sent
    assert whole.figures == read(saved[-1]).figures


async def test_a_run_of_another_question_is_refused_by_name():
    saved = []
    with PacedServer(FAST) as server:
        await measured(server, "prefill", saved=saved)
        with pytest.raises(UsageError, match=r"settings\.pp: \[400\] then, \[500\] now"):
            await measured(server, "decode", settings={"pp": (500,)}, interrupted=read(saved[-1]))
    with PacedServer(FAST) as server:
        server.site.version = "0.32.0"
        with pytest.raises(UsageError, match=r"engine\.version: 0\.28\.0\+paced then, 0\.32\.0 now"):
            await measured(server, "decode", interrupted=read(saved[-1]))


async def test_own_texts_are_compared_by_what_is_in_them(tmp_path):
    path, saved = tmp_path / "text.txt", []
    path.write_text("Wie froh bin ich, dass ich weg bin! " * 200, "utf-8")
    with PacedServer(FAST) as server:
        await measured(server, "prefill", saved=saved, settings={"text": path})
        path.write_text("Ein anderer Text, der ebenso lang ist. " * 200, "utf-8")
        with pytest.raises(UsageError, match=r"settings\.text_sha256"):
            await measured(server, "decode", settings={"text": path}, interrupted=read(saved[-1]))


class Lagging(PacedServer):
    """Publishes what it counted two readings late, as engines do between their steps."""

    pages: list[str] = []  # noqa: RUF012 - replaced at each start

    def _metrics(self):
        self.pages = [*self.pages, super()._metrics()]
        return self.pages[max(0, len(self.pages) - 3)]


async def test_counters_that_lag_are_not_taken_for_somebody_else():
    with Lagging(FAST) as server:
        document = await measured(server, "prefill")
    assert "foreign-requests" not in {notice.code for notice in document.warnings}
    assert [record.case for record in document.requests].count("pp400") == 1


class Visited(PacedServer):
    """Somebody else's request ends with every look at the counters."""

    def _metrics(self):
        self._counts.finished += 1
        self._counts.generated += 100
        return super()._metrics()


async def test_a_disturbed_ruler_is_repeated_so_often_and_then_labelled():
    with Visited(FAST) as server:
        document = await measured(server, "prefill", repeats=2)
    assert [record.case for record in document.requests].count("pp400") == 3
    assert len([notice for notice in document.warnings if "is repeated" in notice.text]) == 2
    assert all(figure.status is not Status.OK for figure in document.figures)
    assert "requests came from somebody else" in document.figures[1].reason


async def test_through_a_gateway_the_load_of_others_is_part_of_what_is_measured():
    with Visited(FAST) as server:
        document = await measured(server, "prefill", via_gateway=True)
    assert [record.case for record in document.requests].count("pp400") == 1
    assert document.settings["via_gateway"] is True
    assert "via-gateway" in {notice.code for notice in document.warnings}
    assert all("somebody else" not in figure.reason for figure in document.figures)


async def test_requests_to_a_neighbour_disturb_too_and_one_that_is_down_leaves_no_doubt():
    with PacedServer(FAST) as server, Visited(FAST) as visited, PacedServer(FAST) as down:
        busy, gone = replace(site_of(visited), name="next door"), replace(site_of(down), name="down")
        down.__exit__()
        assignment = assigned(server, "prefill", repeats=0)
        clock = lambda: datetime.now(UTC)  # noqa: E731
        document = await measure(site_of(server), assignment, now=clock, neighbours=[busy, gone])
    assert document.conditions["foreign_requests"] > 0
    assert "next door: " in document.figures[0].reason
    assert set(document.conditions["foreign"]) == {"main", "next door"}


class Restarted(PacedServer):
    """Its counters begin anew after the first measured prompt."""

    def _chat(self, connection, request, now):
        if self._counts.finished == 3:
            self._counts.generated = self._counts.prompt = self._counts.finished = 0
        return super()._chat(connection, request, now)


async def test_figures_across_a_restart_are_invalid_even_where_the_engine_names_no_start_time():
    with Restarted(FAST) as server:
        server._counts.generated = server._counts.prompt = 100_000
        document = await measured(server, "prefill", settings={"runs": 3})
    assert {figure.status for figure in document.figures} == {Status.INVALID}
    assert "went down" in document.figures[0].reason
    assert "wrong-engine" in {notice.code for notice in document.warnings}


@pytest.mark.parametrize("via_gateway", [False, True])
async def test_a_box_that_compacts_memory_is_measured_again_and_then_labelled(monkeypatch, via_gateway):
    notice = Notice(code="kcompactd", text="the kernel compacted memory for 9 s of 10 s")
    monkeypatch.setattr(Surroundings, "notices", lambda _: (notice,))
    with PacedServer(FAST) as server:
        document = await measured(server, "prefill", repeats=1, via_gateway=via_gateway)
    assert [record.case for record in document.requests].count("pp400") == 2
    assert all(figure.status is Status.UNVERIFIED for figure in document.figures)
    assert "the kernel compacted memory" in document.figures[0].reason


async def test_answers_that_nothing_times_are_not_asked_for_again_because_of_others(monkeypatch):
    class Quality(Decode):
        name = "quality"

    monkeypatch.setattr(bench, "rulers_for", lambda names: [Quality() for _ in names])
    with Visited(FAST) as server:
        document = await measured(server, "quality")
    assert [record.case for record in document.requests].count("warm-up") == 1


@pytest.mark.parametrize(("weights", "above"), [(1e8, False), (1e6, False), (1e9, True)])
async def test_a_decode_figure_is_shown_with_its_share_of_what_the_memory_can_do(weights, above):
    with PacedServer(FAST) as server:
        site = site_of(server, footprint=FootprintHints(active_weights=Size(weights)))
        document = await measured(
            server,
            "decode",
            site=site,
            host=Host(memory_bandwidth="273 GB/s"),
            settings={"cases": ("code/de/*",), "max_tokens": 40},
        )
    rate = next(figure for figure in document.figures if figure.metric == "decode_tok_s")
    assert rate.detail["limit_tok_s"] == pytest.approx(273e9 / weights)
    assert rate.detail["share_of_limit"] == pytest.approx(rate.value * weights / 273e9)
    assert ("what the memory can do" in rate.reason) == above
    if above:
        assert rate.status is Status.UNVERIFIED


async def test_weights_that_nobody_knows_are_said_to_be_unknown():
    with PacedServer(FAST) as server:
        document = await measured(server, "decode", host=Host(memory_bandwidth="273 GB/s"))
        without = await measured(server, "decode")
    assert [notice.code for notice in document.warnings].count("ceiling-unknown") == 1
    assert "ceiling-unknown" not in {notice.code for notice in without.warnings}
    assert all("share_of_limit" not in figure.detail for figure in document.figures)


class Saved(list):
    def __init__(self):
        super().__init__()
        self.after_a_ruler = asyncio.Event()

    def append(self, content):
        super().append(content)
        if read(content).figures:
            self.after_a_ruler.set()


async def test_a_run_that_is_cancelled_leaves_what_it_had_saved():
    saved = Saved()
    slow = Pace(rate_tok_s=5, ttft_s=0.005)
    with PacedServer(slow) as server:
        task = asyncio.create_task(measured(server, "prefill", "decode", saved=saved))
        await saved.after_a_ruler.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert {figure.ruler for figure in read(saved[-1]).figures} == {"prefill"}
