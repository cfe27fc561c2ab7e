"""Against an endpoint that knows the truth. Rates are held within wide bands: a test does not judge speed."""

import pytest

from pitstop.core.documents import Status
from pitstop.rulers.decode import Decode
from support.benches import bench_for, figure_of
from support.paced import PacedServer, Site
from support.script import Pace

CASE = "code/de/think-off"
FAST = Pace(rate_tok_s=400, ttft_s=0.01)


async def measured(pace, **settings):
    with PacedServer(pace) as server:
        bench = bench_for(server, **settings)
        result = await Decode().measure(bench)
        return result, server


def truth_of(server):
    """The rate of the last stream, by the definition."""
    return server.truths[-1]["decode_tok_s"]


@pytest.mark.parametrize("tokens_per_event", [(1, 1), (3, 3), (1, 5)])
async def test_the_decode_rate_is_that_of_the_tokens_and_not_of_the_events(tokens_per_event):
    result, server = await measured(Pace(rate_tok_s=400, ttft_s=0.01, tokens_per_event=tokens_per_event))
    figure = figure_of(result, CASE, "decode_tok_s")
    assert figure.status is Status.OK
    assert figure.n == len(figure.samples) == 3
    assert figure.value == pytest.approx(truth_of(server), rel=0.1)
    assert figure.source == "usage+continuous, client clock"


async def test_without_per_event_counts_the_interval_covers_the_truth():
    pace = Pace(rate_tok_s=400, ttft_s=0.01, tokens_per_event=(3, 3), options="no-continuous")
    result, server = await measured(pace)
    figure = figure_of(result, CASE, "decode_tok_s")
    low, high = figure.interval
    assert low < high
    assert low * 0.95 <= truth_of(server) <= high * 1.05
    assert figure_of(result, CASE, "decode_tok_s_seed").value > figure.value  # it counts the first event's tokens


async def test_several_tokens_an_event_are_reported_as_such():
    result, _ = await measured(Pace(rate_tok_s=400, ttft_s=0.01, tokens_per_event=(4, 4)))
    assert figure_of(result, CASE, "tokens_per_event").value == pytest.approx(4)
    assert "several tokens" in figure_of(result, CASE, "decode_tok_s").detail["note"]


async def test_every_case_is_measured_and_named():
    result, _ = await measured(FAST, cases=(), max_tokens=8)
    cases = {figure.case for figure in result.figures}
    assert cases == {f"{kind}/{language}/think-off" for kind in ("prose", "code") for language in ("de", "en")}


async def test_a_case_runs_through_its_prompts_or_keeps_to_the_first():
    result, _ = await measured(FAST, max_tokens=8)
    assert figure_of(result, CASE, "decode_tok_s").detail["prompts"] == ["de-1", "de-3", "de-5"]
    result, _ = await measured(FAST, max_tokens=8, prompt_order="first")
    assert figure_of(result, CASE, "decode_tok_s").detail["prompts"] == ["de-1"] * 3


async def test_every_request_begins_with_its_own_nonce_in_a_system_message():
    _, server = await measured(FAST, max_tokens=8)
    openings = [request["messages"][0] for request in server.requests]
    assert all(message["role"] == "system" and message["content"][:16].isdigit() for message in openings)
    own = [m["content"] for r, m in zip(server.requests, openings, strict=True) if "paced" not in r]
    probes = 2  # the pair of thinking probes shares one on purpose
    assert len(set(own)) >= len(own) - probes + 1


async def test_the_warm_up_and_the_probes_are_on_record_and_in_no_figure():
    result, server = await measured(FAST, max_tokens=8)
    assert len(result.requests) == len(server.truths)
    assert [record.case for record in result.requests].count("warm-up") == 1
    assert sum(record.case == CASE for record in result.requests) == 3


async def test_a_server_without_usage_gives_no_rate_and_says_why():
    result, _ = await measured(Pace(rate_tok_s=400, ttft_s=0.01, usage_shape="f"))
    for metric in ("decode_tok_s", "throughput_tok_s", "tokens_per_event"):
        figure = figure_of(result, CASE, metric)
        assert figure.status is Status.UNAVAILABLE
        assert figure.value is None
        assert "usage" in figure.reason
    assert figure_of(result, CASE, "ttft_s").value > 0


@pytest.mark.parametrize("shape", "abcde")
async def test_usage_is_found_wherever_it_sits(shape):
    result, _ = await measured(Pace(rate_tok_s=400, ttft_s=0.01, usage_shape=shape), max_tokens=20)
    assert figure_of(result, CASE, "decode_tok_s").status is Status.OK


async def test_a_server_that_buffers_gives_the_end_to_end_rate_only():
    result, _ = await measured(Pace(rate_tok_s=400, ttft_s=0.01, flush=True))
    figure = figure_of(result, CASE, "decode_tok_s")
    assert figure.status is Status.UNAVAILABLE
    assert "at once" in figure.reason
    assert figure_of(result, CASE, "throughput_tok_s").value == pytest.approx(400, rel=0.3)


@pytest.mark.parametrize("fault", [{"error_after": 12}, {"end_after": 12}, {"cut_after": 12}])
async def test_when_every_request_fails_the_figure_is_unavailable_with_the_reason(fault):
    result, _ = await measured(Pace(rate_tok_s=400, ttft_s=0.01, **fault))
    figure = figure_of(result, CASE, "decode_tok_s")
    assert figure.status is Status.UNAVAILABLE
    assert "3 of 3 requests failed" in figure.reason
    assert "requests-failed" in {notice.code for notice in result.warnings}
    assert [record.ok for record in result.requests if record.case == CASE] == [False] * 3


async def test_a_role_only_event_is_no_token():
    result, _ = await measured(Pace(rate_tok_s=400, ttft_s=0.1, role_frame=True), max_tokens=8)
    assert figure_of(result, CASE, "ttfr_s").value < 0.08
    assert figure_of(result, CASE, "ttft_s").value > 0.09


async def test_a_model_that_always_thinks_is_measured_as_such_only():
    result, _ = await measured(Pace(rate_tok_s=400, ttft_s=0.01, reasoning=10**6), max_tokens=8)
    assert {figure.case for figure in result.figures} == {"code/de/think-on"}
    assert "thinking-always" in {notice.code for notice in result.warnings}
    assert figure_of(result, "code/de/think-on", "ttfa_s").status is Status.UNAVAILABLE


async def test_thinking_that_does_not_go_off_is_said():
    with PacedServer(Pace(rate_tok_s=400, ttft_s=0.01, reasoning=10**6)) as server:
        bench = bench_for(server, max_tokens=8)
        object.__setattr__(bench, "thinking_switch", "chat_template")
        result = await Decode().measure(bench)
    figure = figure_of(result, CASE, "decode_tok_s")
    assert figure.status is Status.UNVERIFIED
    assert "asked off, but 3 of 3 replies show reasoning" in figure.reason


async def test_a_quiet_model_that_was_told_to_think_is_said():
    with PacedServer(FAST) as server:
        bench = bench_for(server, max_tokens=8)
        object.__setattr__(bench, "thinking_switch", "chat_template")
        result = await Decode().measure(bench)
    assert "no reply shows reasoning" in figure_of(result, "code/de/think-on", "decode_tok_s").reason


async def test_traffic_of_somebody_else_leaves_the_figures_unverified():
    class Counting(PacedServer):
        def _metrics(self):
            self._counts.generated += 500
            self._counts.finished += 1
            return super()._metrics()

    with Counting(FAST, Site()) as server:
        result = await Decode().measure(bench_for(server))
    figure = figure_of(result, CASE, "decode_tok_s")
    assert figure.status is Status.UNVERIFIED
    assert "somebody else" in figure.reason


async def test_counters_below_the_claims_leave_the_figures_unverified():
    class Forgetful(PacedServer):
        def _metrics(self):
            self._counts.generated = 0
            return super()._metrics()

    with Forgetful(FAST) as server:
        result = await Decode().measure(bench_for(server))
    assert "went up by 0 only" in figure_of(result, CASE, "decode_tok_s").reason


async def test_a_glob_that_matches_no_case_is_said():
    result, _ = await measured(FAST, cases=("prose/fr/*",))
    [figure] = result.figures
    assert figure.status is Status.UNAVAILABLE
    assert "prose/de/think-off" in figure.reason
    assert not any(record.case == "warm-up" for record in result.requests)


async def test_counters_that_lag_behind_their_replies_are_read_again():
    class Lagging(PacedServer):
        shown = 0

        def _metrics(self):
            real, self._counts.generated = self._counts.generated, self.shown
            text = super()._metrics()
            self._counts.generated, self.shown = real, real
            return text

    with Lagging(FAST) as server:
        result = await Decode().measure(bench_for(server))
    assert figure_of(result, CASE, "decode_tok_s").status is Status.OK
