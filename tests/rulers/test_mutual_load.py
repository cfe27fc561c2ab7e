from dataclasses import replace

import pytest

from pitstop.client.endpoint import Endpoint
from pitstop.core.documents import Status
from pitstop.rulers.mutual_load import MutualLoad, names_of
from support.benches import bench_for, figure_of
from support.paced import PacedServer, Site
from support.script import Pace

FAST = Pace(rate_tok_s=400, ttft_s=0.02)


WARM_UP_TOK, TOK = 16, 40


def overlap(one, other):
    """Whether two of the server's own accounts of a stream were under way at the same time."""
    return one["read_at"] < other["last_at"] and other["read_at"] < one["last_at"]


def measured(server):
    """The streams of `server` that were measured, oldest first: those that followed its own warm-up."""
    streams = sorted(server.truths, key=lambda truth: truth["read_at"])
    after = [index + 1 for index, truth in enumerate(streams) if truth["tokens"] == WARM_UP_TOK]
    return [streams[index] for index in after if index < len(streams) and streams[index]["tokens"] == TOK]


async def test_each_model_is_measured_alone_and_beside_the_other_by_turns_with_roles_exchanged():
    with PacedServer(FAST, Site("qwen")) as one, PacedServer(FAST, Site("nemotron")) as two:
        bench = bench_for(one, concurrency=(1,), runs=2, max_tokens=TOK)
        result = await MutualLoad().measure(replace(bench, others=(bench_for(two, max_tokens=TOK),)))
        for model, mine, others in (("qwen", one, two.truths), ("nemotron", two, one.truths)):
            beside = [any(overlap(stream, other) for other in others) for stream in measured(mine)]
            assert beside == [False, True, False, True]
            alone, shared = (figure_of(result, f"{model}/c1/{how}", "throughput_tok_s") for how in ("alone", "shared"))
            kept = figure_of(result, f"{model}/c1", "retention")
            assert kept.value == pytest.approx(shared.value / alone.value)
            pairs = zip(shared.samples, alone.samples, strict=True)
            assert kept.detail["by_run"] == [pytest.approx(after / before) for after, before in pairs]
    total = figure_of(result, "all/c1", "throughput_tok_s").value
    shared = [figure_of(result, f"{m}/c1/shared", "throughput_tok_s").value for m in ("qwen", "nemotron")]
    assert total == pytest.approx(sum(shared))


async def test_progress_counts_every_batch_of_every_level():
    told = []
    with PacedServer(FAST, Site("a")) as one, PacedServer(FAST, Site("b")) as two:
        bench = bench_for(one, concurrency=(1, 2), runs=2, max_tokens=2)
        bench = replace(bench, others=(bench_for(two),), progress=lambda *words: told.append(words))
        await MutualLoad().measure(bench)
    assert [(done, total) for _, done, total in told] == [(turn, 16) for turn in range(16)]
    assert told[2][0] == "mutual-load a/c1/shared"


def test_two_engines_that_serve_the_same_model_are_told_apart():
    one, two, three = (Endpoint(f"http://127.0.0.1:{port}/v1", name) for port, name in ((1, "q"), (2, "q"), (3, "n")))
    assert names_of([one, two, three]) == ["q@127.0.0.1:1", "q@127.0.0.1:2", "n"]


async def test_two_versions_of_one_model_side_by_side_have_figures_each():
    with PacedServer(FAST, Site("a")) as one, PacedServer(FAST, Site("a")) as two:
        bench = bench_for(one, concurrency=(1,), runs=1, max_tokens=8)
        result = await MutualLoad().measure(replace(bench, others=(bench_for(two),)))
    assert len([figure for figure in result.figures if figure.metric == "retention"]) == 2


async def test_what_the_other_engine_was_sent_is_kept_apart():
    with PacedServer(FAST, Site("a")) as one, PacedServer(FAST, Site("b")) as two:
        bench = bench_for(one, concurrency=(1,), runs=1, max_tokens=8)
        result = await MutualLoad().measure(replace(bench, others=(bench_for(two),)))
        elsewhere = result.elsewhere[two.base_url]
    assert len(result.requests) == len(one.truths)
    assert len(elsewhere) == len(two.truths)
    assert {record.case for record in elsewhere} >= {"b/c1/alone", "b/c1/shared", "load"}


async def test_one_engine_alone_has_no_mutual_load():
    with PacedServer(FAST) as server:
        result = await MutualLoad().measure(bench_for(server))
    [figure] = result.figures
    assert figure.status is Status.UNAVAILABLE
    assert "only one engine" in figure.reason


async def test_a_dead_neighbour_is_no_load_and_no_retention():
    with PacedServer(FAST, Site("a")) as one:
        with PacedServer(FAST, Site("b")) as two:
            gone = bench_for(two)
        bench = bench_for(one, concurrency=(1,), runs=1, max_tokens=8)
        result = await MutualLoad().measure(replace(bench, others=(gone,)))
    assert figure_of(result, "b/c1", "retention").status is Status.UNAVAILABLE
    kept = figure_of(result, "a/c1", "retention")  # beside nobody
    assert kept.status is Status.UNVERIFIED
    assert "the load was less than it says" in kept.reason
    assert figure_of(result, "all/c1", "throughput_tok_s").status is Status.UNAVAILABLE
