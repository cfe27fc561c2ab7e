import pytest

from pitstop.core.documents import Status
from pitstop.rulers.long_input import LongInput
from support.benches import bench_for, figure_of
from support.paced import PacedServer, Site, _error
from support.script import Pace

PACE = Pace(rate_tok_s=2000, ttft_s=0.01, prefill_tok_s=100_000)


async def test_the_time_to_the_first_token_grows_with_depth_and_decode_is_measured_there():
    with PacedServer(PACE) as server:
        result = await LongInput().measure(bench_for(server, depths=(2000, 8000), runs=2))
    shallow, deep = (figure_of(result, case, "ttft_s") for case in ("d2000", "d8000"))
    assert shallow.status is deep.status is Status.OK
    assert deep.value > shallow.value + 0.04
    assert figure_of(result, "d8000", "decode_tok_s").n == 2
    asked = server.requests[-1]
    assert asked["max_tokens"] == 256
    assert asked["messages"][-1]["content"].endswith("in exactly three sentences.")


async def test_the_depth_is_met_with_the_instruction_in_it():
    with PacedServer(PACE) as server:
        result = await LongInput().measure(bench_for(server, depths=(2000,), runs=1))
    [record] = [record for record in result.requests if record.case == "d2000"]
    assert abs(record.prompt_tokens - 2000) <= 40


async def test_a_german_text_is_asked_about_in_german(tmp_path):
    words = "Der Morgen war still und über den Feldern lag ein feiner Nebel, den die Sonne nur langsam vertrieb. "
    path = tmp_path / "t.txt"
    path.write_text("".join(f"{i}. {words}" for i in range(200)), encoding="utf-8")
    with PacedServer(PACE) as server:
        result = await LongInput().measure(bench_for(server, depths=(2000,), runs=1, text=path))
    assert "drei Sätzen" in server.requests[-1]["messages"][-1]["content"]
    figure = figure_of(result, "d2000", "decode_tok_s")
    assert figure.status is Status.UNVERIFIED  # it repeats itself
    assert "repeats itself" in figure.reason


async def test_a_context_without_room_for_the_reply_is_said():
    with PacedServer(PACE, Site(context_tok=8100)) as server:
        result = await LongInput().measure(bench_for(server, depths=(8000,), runs=1))
    figure = figure_of(result, "d8000", "ttft_s")
    assert figure.status is Status.UNAVAILABLE
    assert "8100" in figure.reason
    assert "256 for the reply" in figure.reason


async def test_a_cached_prompt_spoils_the_times_and_not_the_decode_rate():
    with PacedServer(Pace(rate_tok_s=2000, ttft_s=0.01, cached=1984)) as server:
        result = await LongInput().measure(bench_for(server, depths=(2000,), runs=1))
    assert figure_of(result, "d2000", "ttft_s").status is Status.INVALID
    decode = figure_of(result, "d2000", "decode_tok_s")
    assert decode.value is not None
    assert "cache" not in decode.reason


@pytest.mark.parametrize("takes_budget", [True, False])
async def test_a_thinking_model_gets_a_budget_of_64_where_the_server_takes_one(takes_budget):
    class Thinker(PacedServer):
        def _chat(self, connection, request, now):
            if "thinking_token_budget" in request and not takes_budget:
                return self._whole(connection, 400, _error("thinking_token_budget: set --reasoning-config"))
            return super()._chat(connection, request, now)

    with Thinker(Pace(rate_tok_s=4000, ttft_s=0.01, reasoning=20)) as server:
        result = await LongInput().measure(bench_for(server, depths=(2000,), runs=1))
    assert server.requests[-1].get("thinking_token_budget") == (64 if takes_budget else None)
    assert ("budget-refused" in {notice.code for notice in result.warnings}) is not takes_budget
