"""Real vLLM on the CPU, asked by the adapter and read from its log."""

import json
import os
import signal
from pathlib import Path

import psutil
import pytest

from pitstop.client.endpoint import Endpoint
from pitstop.client.http import Answer, post_json
from pitstop.engines.acceptance import acceptance
from pitstop.engines.adapter import Readiness
from pitstop.engines.logs import parse_startup
from pitstop.engines.registry import adapter_for
from pitstop.engines.since import OwnTraffic, foreign_traffic, reset_between, since
from real.vllm_env import DEFAULT_VERSION
from support.vllm_server import vllm_serving

pytestmark = pytest.mark.real
NGRAM = json.dumps({"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4})
PROMPT = "Repeat this sentence ten times: The quick brown fox jumps over the lazy dog."


@pytest.fixture(scope="module")
def booted(tmp_path_factory):
    log = tmp_path_factory.mktemp("vllm") / "log"
    with vllm_serving(log, "by-another-name", "--speculative-config", NGRAM) as (endpoint, engine):
        yield endpoint, engine, log


async def chat(endpoint: Endpoint) -> dict[str, int]:
    payload = {"model": endpoint.model, "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 100}
    answer = await post_json(endpoint, "/chat/completions", payload | {"temperature": 0}, deadline_s=300)
    assert isinstance(answer, Answer), answer
    return answer.value["usage"]


async def test_it_is_ready_under_each_of_its_names_and_under_no_other(booted) -> None:
    endpoint, _, _ = booted
    adapter = adapter_for("vllm")
    for name, expected in (
        ("smol", Readiness.READY),
        ("by-another-name", Readiness.READY),
        ("nope", Readiness.WRONG_MODEL),
    ):
        report = await adapter.readiness(Endpoint(endpoint.base_url, name), deadline_s=60)
        assert (report.readiness, report.models) == (expected, ("smol", "by-another-name"))


async def test_it_says_its_version_start_and_capabilities(booted) -> None:
    endpoint, engine, _ = booted
    identity = await adapter_for("vllm").identity(endpoint, deadline_s=60)
    assert (identity.version, identity.version_source) == (DEFAULT_VERSION, "/version")
    started = psutil.Process(engine.pid).create_time()
    from datetime import datetime

    assert abs(datetime.fromisoformat(identity.started_at or "").timestamp() - started) < 5
    seen = await adapter_for("vllm").capabilities(endpoint, deadline_s=60)
    assert (seen.metrics, seen.context_tok) == (True, 4096)
    assert (seen.cache_block_tok or 0) > 0


async def test_its_counters_move_by_what_a_reply_says_under_whatever_name(booted) -> None:
    adapter = adapter_for("vllm")
    endpoint = Endpoint(booted[0].base_url, "by-another-name")
    before = await adapter.counters(endpoint, deadline_s=60)
    usage = await chat(endpoint)
    after = await adapter.counters(endpoint, deadline_s=60)
    done = since(before, after)
    assert not reset_between(before, after)
    assert (done.requests_finished, done.generation_tokens) == (1, usage["completion_tokens"])
    assert (done.prompt_tokens, done.prefix_queries_tok) == (usage["prompt_tokens"], usage["prompt_tokens"])
    own = OwnTraffic(1, usage["prompt_tokens"], usage["completion_tokens"])
    assert foreign_traffic(before, after, own).seen is False


async def test_its_speculation_is_counted_without_contradiction(booted) -> None:
    endpoint, _, _ = booted
    adapter = adapter_for("vllm")
    before = await adapter.counters(endpoint, deadline_s=60)
    await chat(endpoint)
    seen = acceptance(since(before, await adapter.counters(endpoint, deadline_s=60)))
    assert seen.rate is not None
    assert seen.length is not None
    assert seen.per_position is not None
    assert not seen.disagreement
    assert 0 < seen.rate <= 1 < seen.length <= 4
    assert len(seen.per_position) == 3


def test_its_log_gives_the_facts_that_no_endpoint_does(booted) -> None:
    log: Path = booted[2]
    facts = parse_startup(log.read_text(errors="replace").splitlines())
    assert (facts.version, facts.ready, facts.kv_memory_bytes) == (DEFAULT_VERSION, True, 2**30)
    assert facts.kv_cache_tok
    assert facts.kv_cache_tok / 4096 == pytest.approx(facts.max_concurrency, abs=0.01)


async def test_with_its_engine_killed_it_is_not_ready_any_more(booted) -> None:
    """The last test: the server is dead afterwards."""
    endpoint, engine, _ = booted
    for child in psutil.Process(engine.pid).children(recursive=True):
        os.kill(child.pid, signal.SIGKILL)
    report = await adapter_for("vllm").readiness(endpoint, deadline_s=60)
    if report.readiness is Readiness.READY:  # it notices with the next request
        payload = {"model": endpoint.model, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
        await post_json(endpoint, "/chat/completions", payload, deadline_s=60)
        report = await adapter_for("vllm").readiness(endpoint, deadline_s=60)
    assert report.readiness is not Readiness.READY
