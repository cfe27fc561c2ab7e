"""What holds for every engine, tried on a strict fake and on real llama.cpp."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from pitstop.client.endpoint import Endpoint
from pitstop.client.http import Answer, post_json
from pitstop.engines.acceptance import acceptance
from pitstop.engines.adapter import Adapter, Readiness
from pitstop.engines.registry import adapter_for
from pitstop.engines.since import OwnTraffic, foreign_traffic, reset_between, since
from support.embedded import embedded_engine
from support.fake_engine import as_json, as_text, listed, serving

REPEATING = "Repeat this ten times: one two three four five six."


@dataclass
class Tally:
    """The fake's own books, in llama.cpp's dialect."""

    requests: int = 0

    def chat(self):
        self.requests += 1
        usage = {"prompt_tokens": 30, "completion_tokens": 16, "total_tokens": 46}
        return as_json({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}], "usage": usage})

    def metrics(self):
        names = {"prompt_tokens": 30, "tokens_predicted": 16, "spec_decode_num_drafts": 4}
        names |= {"spec_decode_num_draft_tokens": 20, "spec_decode_num_accepted_tokens": 10}
        lines = [f"llamacpp:{name}_total {self.requests * each}" for name, each in names.items()]
        return as_text("\n".join([*lines, "llamacpp:prompt_tokens_cached_total 0", "llamacpp:requests_processing 0"]))


@asynccontextmanager
async def fake_llamacpp():
    tally = Tally()
    replies = {
        "/v1/models": listed("smollm2"),
        "/health": as_json({"status": "ok"}),
        "/props": as_json({"build_info": "b1-fake"}),
        "/metrics": tally.metrics,
        "/v1/chat/completions": tally.chat,
    }
    async with serving(replies, model="smollm2") as (endpoint, _):
        yield endpoint


@pytest.fixture(scope="module")
def real_endpoint(tmp_path_factory):
    log = tmp_path_factory.mktemp("engine") / "log"
    with embedded_engine(log, "--ctx", "2048", "--threads", "1", "--spec", "ngram-cache") as endpoint:
        yield endpoint


@pytest.fixture(params=["fake", "real"])
async def engine(request):
    adapter = adapter_for("llamacpp")
    if request.param == "real":
        yield adapter, request.getfixturevalue("real_endpoint")
    else:
        async with fake_llamacpp() as endpoint:
            yield adapter, endpoint


async def chat(endpoint: Endpoint, prompt: str = REPEATING) -> dict[str, int]:
    payload = {"model": endpoint.model, "messages": [{"role": "user", "content": prompt}], "max_tokens": 48}
    answer = await post_json(endpoint, "/chat/completions", payload | {"temperature": 0}, deadline_s=120)
    assert isinstance(answer, Answer), answer
    return answer.value["usage"]


async def test_it_is_ready_with_the_model_it_lists(engine: tuple[Adapter, Endpoint]) -> None:
    adapter, endpoint = engine
    report = await adapter.readiness(endpoint, deadline_s=30)
    assert (report.readiness, report.models) == (Readiness.READY, (endpoint.model,))


async def test_it_is_not_ready_for_a_model_it_does_not_list(engine: tuple[Adapter, Endpoint]) -> None:
    adapter, endpoint = engine
    report = await adapter.readiness(Endpoint(endpoint.base_url, "nope"), deadline_s=30)
    assert (report.readiness, report.models) == (Readiness.WRONG_MODEL, (endpoint.model,))


async def test_its_identity_does_not_change_while_it_runs(engine: tuple[Adapter, Endpoint]) -> None:
    adapter, endpoint = engine
    before = await adapter.identity(endpoint, deadline_s=30)
    await chat(endpoint)
    assert await adapter.identity(endpoint, deadline_s=30) == before


async def test_its_counters_move_by_what_a_reply_says(engine: tuple[Adapter, Endpoint]) -> None:
    adapter, endpoint = engine
    before = await adapter.counters(endpoint, deadline_s=30)
    usage = await chat(endpoint)
    after = await adapter.counters(endpoint, deadline_s=30)
    done = since(before, after)
    assert not reset_between(before, after)
    assert (done.prompt_tokens, done.generation_tokens) == (usage["prompt_tokens"], usage["completion_tokens"])
    assert done.prefix_queries_tok == usage["prompt_tokens"]
    own = OwnTraffic(1, usage["prompt_tokens"], usage["completion_tokens"])
    assert foreign_traffic(before, after, own).seen is False
    assert foreign_traffic(before, after, OwnTraffic(0, 0, 0)).seen is True


async def test_its_speculation_is_counted_without_contradiction(engine: tuple[Adapter, Endpoint]) -> None:
    adapter, endpoint = engine
    before = await adapter.counters(endpoint, deadline_s=30)
    await chat(endpoint)
    seen = acceptance(since(before, await adapter.counters(endpoint, deadline_s=30)))
    assert seen.rate is not None
    assert seen.length is not None
    assert not seen.disagreement
    assert 0 < seen.rate <= 1 < seen.length


async def test_real_llamacpp_is_asked_what_it_can(real_endpoint: Endpoint) -> None:
    seen = await adapter_for("llamacpp").capabilities(real_endpoint, deadline_s=30)
    assert (seen.metrics, seen.per_event_timings, seen.context_tok, seen.cache_block_tok) == (True, True, 2048, 1)
