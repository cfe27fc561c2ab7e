from dataclasses import replace

import pytest

from pitstop.client.endpoint import Endpoint
from pitstop.core.documents import Status
from pitstop.rulers.mutual_load import MutualLoad, names_of, sentence
from support.benches import bench_for, figure_of
from support.paced import PacedServer, Site
from support.script import Pace

FAST = Pace(rate_tok_s=400, ttft_s=0.02)


class Bus:
    """Two servers on one memory bus: each is half as fast while the other is at work."""

    def __init__(self):
        self.servers = []


class Sharing(PacedServer):
    bus = None

    def _chat(self, connection, request, now):
        busy = any(other._counts.running for other in self.bus.servers if other is not self)
        request["paced"] = {"rate_tok_s": 200 if busy else 400}
        return super()._chat(connection, request, now)


async def test_each_model_is_measured_alone_and_beside_the_other_with_roles_exchanged():
    bus = Bus()
    with Sharing(FAST, Site("qwen")) as one, Sharing(FAST, Site("nemotron")) as two:
        one.bus = two.bus = bus
        bus.servers = [one, two]
        bench = bench_for(one, concurrency=(2,), runs=2)
        result = await MutualLoad().measure(replace(bench, others=(bench_for(two),)))
    for model in ("qwen", "nemotron"):
        assert figure_of(result, f"{model}/c2/alone", "throughput_tok_s").status is Status.OK
        assert figure_of(result, f"{model}/c2/shared", "ttft_s").n == 2
        assert 0.4 < figure_of(result, f"{model}/c2", "retention").value < 0.95
    total = figure_of(result, "all/c2", "throughput_tok_s").value
    shared = [figure_of(result, f"{m}/c2/shared", "throughput_tok_s").value for m in ("qwen", "nemotron")]
    assert total == pytest.approx(sum(shared))


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
    assert figure_of(result, "all/c1", "throughput_tok_s").status is Status.UNAVAILABLE


def test_the_sentence_is_the_second_report_s_when_the_figures_are():
    rates = {"qwen": (262.7, 107.7), "nemotron": (293.3, 149.6)}
    text = sentence(8, rates)
    assert "flexibility, not throughput" in text
    assert "together 257.3 tok/s" in text
    assert "more throughput" in sentence(8, {"a": (100.0, 90.0), "b": (100.0, 90.0)})
