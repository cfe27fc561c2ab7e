"""The client against real llama.cpp: what the server's own timings say is what the client says."""

import json
from collections.abc import Iterator

import pytest

from pitstop.client.chat import ChatClient
from pitstop.client.endpoint import ChatRequest, Endpoint
from pitstop.client.negotiate import Agreement
from pitstop.core.errors import RequestRefused
from support.embedded import embedded_engine

PROMPT = ({"role": "user", "content": "Write a Python function that sorts a list."},)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with embedded_engine(tmp_path_factory.mktemp("llamacpp") / "log", "--ctx", "1024", "--threads", "1") as running:
        yield running


async def test_counts_and_rate_are_those_of_the_server(endpoint: Endpoint) -> None:
    reply = await ChatClient(endpoint, agreement=Agreement(timings=True)).stream(ChatRequest(PROMPT, 24))
    events = [json.loads(line[6:]) for line in reply.exchange.body.split(b"\n\n") if line.startswith(b"data: {")]
    timings = next(event["timings"] for event in reversed(events) if "timings" in event)
    assert reply.ok
    assert reply.record.completion_tokens == timings["predicted_n"]
    assert reply.record.cached_tokens == timings["cache_n"]
    assert reply.events[-1].total == timings["predicted_n"]
    assert reply.record.decode_tok_s == pytest.approx(timings["predicted_per_second"], rel=0.2)


async def test_a_prompt_that_does_not_fit_says_both_numbers(endpoint: Endpoint) -> None:
    long = ({"role": "user", "content": "word " * 2000},)
    with pytest.raises(RequestRefused, match=r"needs \d+ tokens and the context holds 1024"):
        await ChatClient(endpoint).stream(ChatRequest(long, 1))


async def test_one_token_has_a_time(endpoint: Endpoint) -> None:
    reply = await ChatClient(endpoint).stream(ChatRequest(PROMPT, 1))
    assert (reply.record.completion_tokens, reply.ok) == (1, True)
    assert reply.record.ttft_s is not None
