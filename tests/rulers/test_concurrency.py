import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.documents import Status
from pitstop.rulers.concurrency import Concurrency
from pitstop.rulers.saturation import Level, over_saturated
from support.benches import bench_for, figure_of
from support.paced import PacedServer, _error
from support.script import Pace

FAST = Pace(rate_tok_s=400, ttft_s=0.02)


class OnlyTwo(PacedServer):
    """Refuses whoever comes third, as a server with a full queue does."""

    def _chat(self, connection, request, now):
        if self._counts.running >= 2:
            return self._whole(connection, 429, _error("too many requests", code=429))
        return super()._chat(connection, request, now)


class OneAtATime(PacedServer):
    """One stream after the other, with a pause between: more streams buy waiting, and cost throughput."""

    def _chat(self, connection, request, now):
        ends = [s.read_at + s.script.frames[-1].due_s for *_, s in self._due]
        return super()._chat(connection, request, max(ends) + 0.1 if ends else now)


async def test_throughput_is_all_tokens_over_the_whole_time():
    """Held against the account of each request, not against the pace: a busy machine slows both alike."""
    with PacedServer(FAST) as server:
        result = await Concurrency().measure(bench_for(server, concurrency=(1, 4), runs=2))
    one, four = (figure_of(result, case, "throughput_tok_s") for case in ("c1", "c4"))
    assert one.value is not None
    assert four.n == 2
    alone, together = ([r for r in result.requests if r.case == case and r.ok] for case in ("c1", "c4"))
    assert sorted(one.samples) == pytest.approx(sorted(r.completion_tokens / r.e2e_s for r in alone), rel=0.1)
    batches = [together[:4], together[4:]]
    whole = [sum(r.completion_tokens for r in batch) / max(r.e2e_s for r in batch) for batch in batches]
    assert sorted(four.samples) == pytest.approx(sorted(whole), rel=0.1)


async def test_a_level_runs_the_first_prompts_and_each_with_its_own_nonce():
    with PacedServer(FAST) as server:
        await Concurrency().measure(bench_for(server, concurrency=(8,), runs=1, max_tokens=4))
    sent = [request["messages"] for request in server.requests[-8:]]
    assert len({messages[0]["content"] for messages in sent}) == 8
    assert len({messages[1]["content"] for messages in sent}) == 8


async def test_a_server_that_takes_no_more_ends_the_sweep_with_the_reason():
    with OnlyTwo(FAST) as server:
        result = await Concurrency().measure(bench_for(server, concurrency=(1, 4, 8, 64), runs=1, max_tokens=8))
    assert figure_of(result, "c1", "throughput_tok_s").status is Status.OK
    four, eight = (figure_of(result, case, "throughput_tok_s") for case in ("c4", "c8"))
    assert four.status is eight.status is Status.UNAVAILABLE
    assert "2 of 4 requests failed" in four.reason
    assert "not measured, over-saturated" in eight.reason
    assert not any(record.case in {"c8", "c64"} for record in result.requests)


async def test_streams_that_only_wait_end_the_sweep_and_show_the_knee():
    with OneAtATime(FAST) as server:
        result = await Concurrency().measure(bench_for(server, concurrency=(1, 4, 8), runs=1, max_tokens=20))
    assert "sweep-stopped" in {notice.code for notice in result.warnings}
    assert figure_of(result, "c8", "throughput_tok_s").status is Status.UNAVAILABLE
    assert figure_of(result, "sweep", "knee_streams").value == 1


async def test_a_sweep_that_still_grows_says_that_the_knee_lies_beyond():
    with PacedServer(FAST) as server:
        result = await Concurrency().measure(bench_for(server, concurrency=(1, 4), runs=1))
    assert "knee-beyond" in {notice.code for notice in result.warnings}
    assert not [figure for figure in result.figures if figure.metric == "knee_streams"]


LEVELS = [
    ([], ""),
    ([Level(1, 100, 0.1)], ""),
    ([Level(1, 100, 0.1), Level(8, 400, 0.3)], ""),
    ([Level(8, 400, 0.3), Level(16, 350, 0.4)], "fell from 400.0 tok/s at 8"),
    ([Level(8, 400, 0.3), Level(16, 402, 0.7)], "the time to the first token grew from 0.30 to 0.70"),
    ([Level(8, 400, 0.3), Level(16, 402, 0.4)], ""),
    ([Level(8, 400, 0.3), Level(16, 450, 0.9)], ""),
    ([Level(8, 400, 0.3), Level(16, None, None, 3, "busy")], "3 requests failed at 16 streams: busy"),
    ([Level(8, 400, 0.3), Level(16, None, None)], ""),  # no usage: nothing is known
]


@pytest.mark.parametrize(("levels", "expected"), LEVELS)
def test_over_saturation_is_told_by_its_reason(levels, expected):
    assert expected in over_saturated(levels) if expected else over_saturated(levels) == ""


rates = st.none() | st.floats(0, 1e6)
levels = st.lists(st.builds(Level, st.integers(1, 512), rates, rates, st.integers(0, 3)), max_size=6)


@given(levels)
def test_failures_always_end_a_sweep_and_nothing_breaks_it(sweep):
    reason = over_saturated(sweep)
    if sweep and sweep[-1].failed:
        assert reason
