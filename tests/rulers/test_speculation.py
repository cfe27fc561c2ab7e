import msgspec
import pytest

from pitstop.client.chat import Reply
from pitstop.client.exchange import Exchange
from pitstop.core.documents import RequestRecord, Status
from pitstop.engines.adapter import Counters
from pitstop.rulers.acceptance import acceptance_over
from pitstop.rulers.speculation import Speculation, text_of
from pitstop.rulers.text import repetition
from support.benches import bench_for, figure_of
from support.paced import PacedServer
from support.script import Pace


class Drafting(PacedServer):
    """Three drafted tokens a step, of which two are accepted; repeated text has all three accepted."""

    def _metrics(self):
        repeated = sum("Kran" in str(request["messages"]) for request in self.requests)
        others = len(self.requests) - repeated
        drafts, accepted = 10 * (repeated + others), 30 * repeated + 20 * others
        labels = '{engine="0",model_name="paced"}'
        rows = {"num_drafts": drafts, "num_draft_tokens": 3 * drafts, "num_accepted_tokens": accepted}
        text = "".join(f"vllm:spec_decode_{name}_total{labels} {value}.0\n" for name, value in rows.items())
        return super()._metrics() + text


async def test_acceptance_is_shown_side_by_side_with_its_estimator():
    with Drafting(Pace(rate_tok_s=1000, ttft_s=0.01, tokens_per_event=(3, 3))) as server:
        result = await Speculation().measure(bench_for(server, runs=2, max_tokens=12))
    for case, rate in (("prose", 2 / 3), ("code", 2 / 3), ("repeated", 1.0)):
        figure = figure_of(result, case, "acceptance_rate")
        assert figure.value == pytest.approx(rate)
        assert figure.status is Status.OK
        assert "accepted tokens / draft tokens" in figure.detail["estimator"]
        assert figure_of(result, case, "acceptance_length").value == pytest.approx(1 + 3 * rate)
        assert figure_of(result, case, "decode_tok_s").value > 0


async def test_a_server_that_does_not_speculate_has_no_acceptance_rather_than_zero():
    with PacedServer(Pace(rate_tok_s=1000, ttft_s=0.01)) as server:
        result = await Speculation().measure(bench_for(server, runs=1, max_tokens=12))
    figure = figure_of(result, "prose", "acceptance_rate")
    assert (figure.value, figure.status) == (None, Status.UNAVAILABLE)


def test_the_repeated_text_repeats_itself_and_the_others_do_not():
    assert repetition(text_of("repeated", 0)) > 0.9
    assert repetition(text_of("prose", 0)) == repetition(text_of("code", 0)) == 0


def reply_with(*timings):
    events = [b"data: " + msgspec.json.encode({"choices": [], "timings": t}) + b"\n\n" for t in timings]
    body = b"".join(events) + b'data: {"draft_n": broken "draft_n"\n\n'
    return Reply(RequestRecord(ruler="r", case="c", ok=True), exchange=Exchange(url="", body=body))


def test_without_counters_the_timings_of_llama_cpp_s_replies_tell():
    replies = [reply_with({"draft_n": 100, "draft_n_accepted": 20}, {"draft_n": 347, "draft_n_accepted": 65})] * 2
    found, source = acceptance_over(replies, Counters())
    assert found.rate == pytest.approx(65 / 347)
    assert source == "timings of the replies"


@pytest.mark.parametrize("timings", [{}, {"draft_n": 0}, {"draft_n": "x"}, {"draft_n": None, "draft_n_accepted": -1}])
def test_mad_timings_are_no_acceptance(timings):
    assert not acceptance_over([reply_with(timings)], Counters())[0].known
    assert not acceptance_over([], Counters())[0].known


def test_counters_outrank_timings():
    delta = Counters(drafts=814, draft_tokens=5698, accepted_tokens=2484)
    found, source = acceptance_over([reply_with({"draft_n": 9, "draft_n_accepted": 9})], delta)
    assert found.rate == pytest.approx(0.4359, abs=1e-4)
    assert found.length == pytest.approx(4.0516, abs=1e-4)
    assert source.startswith("server counters")
