"""Against an endpoint that knows the truth; the bands are wide because a test does not judge speed."""

import pytest

from pitstop.core.documents import Status
from pitstop.rulers.prefill import Prefill
from support.benches import bench_for, figure_of
from support.paced import PacedServer, Site
from support.script import Pace

PACE = Pace(rate_tok_s=1000, ttft_s=0.02, prefill_tok_s=20_000)


async def measured(pace=PACE, site=None, server_kind=PacedServer, **settings):
    with server_kind(pace, site) as server:
        result = await Prefill().measure(bench_for(server, **settings))
        return result, server


async def test_the_rate_is_prompt_tokens_over_the_time_to_the_first_token():
    result, server = await measured(pp=(2000,))
    figure = figure_of(result, "pp2000", "prefill_tok_s")
    truth = server.truths[-1]
    assert figure.status is Status.OK
    assert figure.n == 3
    assert figure.value == pytest.approx(truth["prompt_tokens"] / (0.02 + truth["prompt_tokens"] / 20_000), rel=0.1)


@pytest.mark.parametrize("size", [400, 2000, 8000])
async def test_sizes_are_met_within_two_percent_by_the_server_s_count(size):
    result, _ = await measured(pp=(size,), runs=1)
    counted = [record.prompt_tokens for record in result.requests if record.case == f"pp{size}"]
    assert counted
    assert all(abs(tokens - size) <= 0.02 * size for tokens in counted)


async def test_a_size_takes_few_requests_and_its_last_try_is_the_warm_up():
    result, server = await measured(pp=(2000, 8000))
    cases = [record.case for record in result.requests]
    assert cases.count("pp2000") == cases.count("pp8000") == 3
    assert 1 <= cases.count("pp2000 (warm-up)") <= 2
    assert cases.count("pp8000 (warm-up)") == 1
    assert len(server.truths) == len(cases)


async def test_the_role_event_does_not_end_the_prefill():
    result, _ = await measured(Pace(rate_tok_s=1000, ttft_s=0.1, role_frame=True))
    assert figure_of(result, "pp400", "ttft_s").value > 0.09


async def test_every_prompt_begins_with_another_nonce():
    _, server = await measured(pp=(400, 800))
    openings = [request["messages"][0]["content"] for request in server.requests]
    assert len(set(openings)) == len(openings)


async def test_a_prompt_from_the_cache_gives_no_prefill_figure_that_may_be_quoted():
    result, _ = await measured(Pace(rate_tok_s=1000, ttft_s=0.01, cached=384))
    figure = figure_of(result, "pp400", "prefill_tok_s")
    assert figure.status is Status.INVALID
    assert "384" in figure.reason
    assert "cached_tokens" in figure.reason


async def test_what_the_server_says_of_its_cache_is_the_proof():
    result, _ = await measured(Pace(rate_tok_s=1000, ttft_s=0.01, cached=0))
    assert figure_of(result, "pp400", "prefill_tok_s").detail["coldness_from"] == "cached_tokens"
    result, _ = await measured(Pace(rate_tok_s=1000, ttft_s=0.01))
    assert figure_of(result, "pp400", "prefill_tok_s").detail["coldness_from"] == "prefix counters"


async def test_a_server_that_says_nothing_of_its_cache_leaves_the_figure_unverified():
    class Silent(PacedServer):
        def _metrics(self):
            return ""

    result, _ = await measured(server_kind=Silent)
    figure = figure_of(result, "pp400", "prefill_tok_s")
    assert figure.status is Status.UNVERIFIED
    assert "not proved cold" in figure.reason
    assert figure.value > 0


async def test_a_context_that_is_too_small_is_said_with_both_numbers_and_a_remedy():
    result, server = await measured(site=Site(context_tok=4096), pp=(8000,))
    figure = figure_of(result, "pp8000", "prefill_tok_s")
    assert figure.status is Status.UNAVAILABLE
    assert "4096" in figure.reason
    assert "8000" in figure.reason
    assert "longer context" in figure.reason
    assert len(server.requests) == 1  # nothing was sent in vain


async def test_a_context_that_only_the_refusal_tells_is_said_too():
    with PacedServer(PACE, Site(context_tok=4096)) as server:
        bench = bench_for(server, pp=(8000,))
        object.__setattr__(bench, "capabilities", type(bench.capabilities)())
        result = await Prefill().measure(bench)
    figure = figure_of(result, "pp8000", "prefill_tok_s")
    assert figure.status is Status.UNAVAILABLE
    assert "4096" in figure.reason


async def test_a_server_that_cuts_prompts_silently_is_found_out():
    class Cutting(PacedServer):
        def _chat(self, connection, request, now):
            for message in request["messages"]:
                message["content"] = message["content"][:10_000]
            return super()._chat(connection, request, now)

    result, _ = await measured(server_kind=Cutting, pp=(8000,))
    figure = figure_of(result, "pp8000", "prefill_tok_s")
    assert figure.status is Status.UNAVAILABLE
    assert "cuts long prompts" in figure.reason


async def test_a_text_that_is_too_short_is_said(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("Ein kurzer Text, der nicht reicht. " * 60, encoding="utf-8")
    result, _ = await measured(pp=(8000,), text=path)
    assert "--text" in figure_of(result, "pp8000", "prefill_tok_s").reason


async def test_without_usage_no_prompt_can_be_sized():
    result, _ = await measured(Pace(rate_tok_s=1000, ttft_s=0.01, usage_shape="f"))
    figure = figure_of(result, "pp400", "prefill_tok_s")
    assert figure.status is Status.UNAVAILABLE
    assert "usage" in figure.reason


async def test_a_token_without_text_counts_when_its_finish_reason_comes():
    result, _ = await measured(Pace(rate_tok_s=1000, ttft_s=0.1, hidden_stop=True, finish="stop"))
    assert figure_of(result, "pp400", "ttft_s").value == pytest.approx(0.1, rel=0.3)


async def test_failed_requests_are_not_averaged():
    result, _ = await measured(Pace(rate_tok_s=1000, ttft_s=0.01, error_after=0))
    figure = figure_of(result, "pp400", "prefill_tok_s")
    assert figure.status is Status.UNAVAILABLE
    assert "failed" in figure.reason


class Exaggerating(PacedServer):
    """Counts every prompt twice in its replies; its counters know better."""

    def _chat(self, connection, request, now):
        before = self._counts.prompt
        result = super()._chat(connection, request, now)
        self._counts.prompt = before + (self._counts.prompt - before) // 2
        return result


async def test_prompt_tokens_that_the_counters_do_not_know_of_leave_the_figure_unverified():
    result, _ = await measured(server_kind=Exaggerating)
    figure = figure_of(result, "pp400", "prefill_tok_s")
    assert figure.status is Status.UNVERIFIED
    assert "the server's counter went up by 203" in figure.reason
