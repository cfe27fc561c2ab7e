import json
from pathlib import Path

import pytest

from pitstop.core.errors import PitstopError, RequestRefused, UsageError
from pitstop.engines.adapter import Counters, Readiness
from pitstop.engines.registry import KINDS, adapter_for
from support.fake_engine import Reply, as_json, as_text, listed, serving

DATA = Path(__file__).parent / "data"
VLLM = {
    "/version": as_text((DATA / "vllm-0.32.0-version.json").read_text()),
    "/v1/models": as_json(json.loads((DATA / "vllm-0.32.0-models.json").read_text())),
    "/metrics": as_text((DATA / "vllm-0.32.0-metrics.txt").read_text()),
    "/health": as_text(""),
}
LLAMACPP_METRICS = as_text("llamacpp:prompt_tokens_total 5\nllamacpp:tokens_predicted_total 7\n")
STARTING = as_json({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, 503)
HTML = Reply("<html><title>Sign in</title></html>", 200, "text/html")
# How a server can be half dead; each must end in a sentence within the deadline.
HALF_DEAD = {
    "never answers": Reply(stall=True),
    "no HTTP": Reply(raw=b"SSH-2.0-OpenSSH_9.2\r\n"),
    "endless body": Reply("{", endless=True),
    "login page": HTML,
    "redirect": Reply("", 302),
    "bad gateway": Reply("<html>502</html>", 502, "text/html"),
    "another document": as_json({"status": "ok"}),
    "a list": as_json([1, 2]),
    "deeply nested": Reply("[" * 100_000),
    "cut off": Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_lists_the_model_is_ready(kind: str) -> None:
    async with serving({"/v1/models": listed("m", "n")}) as (endpoint, _):
        report = await adapter_for(kind).readiness(endpoint)
        assert (report.readiness, report.models) == (Readiness.READY, ("m", "n"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "replies",
    [
        {"/v1/models": STARTING},
        {"/v1/models": listed()},
        {"/v1/models": listed("m"), "/health": STARTING},
        {"/v1/models": listed("m", status={"value": "loading"})},
    ],
)
async def test_a_server_that_is_not_there_yet_is_loading(kind: str, replies: dict[str, Reply]) -> None:
    async with serving(replies) as (endpoint, _):
        report = await adapter_for(kind).readiness(endpoint)
        assert (report.readiness, bool(report.detail)) == (Readiness.LOADING, True)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_wrong_model_is_answered_with_those_that_there_are(kind: str) -> None:
    async with serving({"/v1/models": listed("a", "b")}) as (endpoint, _):
        report = await adapter_for(kind).readiness(endpoint)
        assert (report.readiness, report.models) == (Readiness.WRONG_MODEL, ("a", "b"))
        assert "'m'" in report.detail
        assert "a, b" in report.detail


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_that_is_missing_is_refused_and_never_shown(kind: str) -> None:
    replies = {"/v1/models": listed("m"), "/version": as_json({}), "/props": as_json({}), "/server_info": as_json({})}
    async with serving(replies, api_key="right", sent_key="s3cret") as (endpoint, _):
        report = await adapter_for(kind).readiness(endpoint)
        assert report.readiness is Readiness.REFUSED
        with pytest.raises(RequestRefused) as refused:
            await adapter_for(kind).identity(endpoint)
        assert "s3cret" not in report.detail + str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_that_is_right_is_taken(kind: str) -> None:
    async with serving({"/v1/models": listed("m")}, api_key="right", sent_key="right") as (endpoint, _):
        assert (await adapter_for(kind).readiness(endpoint)).readiness is Readiness.READY


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_there_is_unreachable(kind: str) -> None:
    async with serving({}) as (endpoint, _):
        pass
    report = await adapter_for(kind).readiness(endpoint)
    assert (report.readiness, bool(report.detail)) == (Readiness.UNREACHABLE, True)
    with pytest.raises(PitstopError):
        await adapter_for(kind).identity(endpoint)
    assert await adapter_for(kind).counters(endpoint) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", HALF_DEAD)
async def test_a_half_dead_server_ends_in_a_sentence(kind: str, how: str) -> None:
    paths = ("/v1/models", "/health", "/metrics", "/version", "/props", "/server_info", "/get_server_info")
    async with serving(dict.fromkeys(paths, HALF_DEAD[how])) as (endpoint, _):
        adapter = adapter_for(kind)
        report = await adapter.readiness(endpoint, deadline_s=0.4)
        assert report.readiness is Readiness.UNREACHABLE
        assert len(report.detail) > 20
        assert await adapter.counters(endpoint, deadline_s=0.4) is None
        seen = await adapter.capabilities(endpoint, deadline_s=0.4)
        assert (seen.metrics, seen.context_tok) == (False, None)
        try:
            identity = await adapter.identity(endpoint, deadline_s=0.4)
        except PitstopError as error:
            assert error.message
        else:
            assert identity.version is None


async def test_vllm_says_who_it_is() -> None:
    async with serving(VLLM, model="smol") as (endpoint, _):
        identity = await adapter_for("vllm").identity(endpoint)
        assert (identity.version, identity.version_source) == ("0.32.0", "/version")
        assert (identity.started_at or "").startswith("2026-11-29T17:55:29")
        seen = await adapter_for("vllm").capabilities(endpoint)
        assert (seen.metrics, seen.context_tok, seen.cache_block_tok) == (True, 4096, 128)


async def test_a_vllm_that_is_asked_by_an_alias_is_counted_under_its_first_name() -> None:
    async with serving(VLLM, model="smol-alias") as (endpoint, _):
        by_alias = await adapter_for("vllm").counters(endpoint)
    async with serving(VLLM, model="smol") as (endpoint, fake):
        assert await adapter_for("vllm").counters(endpoint) == by_alias
        assert fake.asked == ["/metrics"]
    assert by_alias is not None
    assert by_alias.requests_finished


async def test_a_vllm_whose_engine_died_is_not_ready_although_it_lists_its_model() -> None:
    async with serving(VLLM | {"/health": as_text("", 503)}, model="smol") as (endpoint, _):
        assert (await adapter_for("vllm").readiness(endpoint)).readiness is Readiness.LOADING


@pytest.mark.parametrize("status", [404, 501])
async def test_llamacpp_without_metrics_has_no_counters_and_no_fault(status: int) -> None:
    error = as_json({"error": {"message": "This server does not support metrics endpoint."}}, status)
    async with serving({"/v1/models": listed("m"), "/metrics": error}) as (endpoint, _):
        assert await adapter_for("llamacpp").counters(endpoint) is None
        assert not (await adapter_for("llamacpp").capabilities(endpoint)).metrics


async def test_a_llamacpp_router_is_told_the_model() -> None:
    replies = {"/metrics": as_json({"error": "model is missing"}, 400), "/metrics?model=a%2Fm": LLAMACPP_METRICS}
    async with serving(replies, model="a/m") as (endpoint, _):
        assert await adapter_for("llamacpp").counters(endpoint) == Counters(prompt_tokens=5, generation_tokens=7)


@pytest.mark.parametrize(("build", "version"), [("b4567-abcdef0", "b4567-abcdef0"), ("b0-unknown", None), (7, None)])
async def test_llamacpp_says_its_build_unless_it_does_not_know_it(build: object, version: str | None) -> None:
    async with serving({"/props": as_json({"build_info": build})}) as (endpoint, _):
        assert (await adapter_for("llamacpp").identity(endpoint)).version == version


@pytest.mark.parametrize(
    ("settings", "timings"), [({"params": {"timings_per_token": False}}, True), ({"params": {}}, False), ({}, False)]
)
async def test_llamacpp_is_asked_whether_it_knows_timings(settings: dict[str, object], timings: bool) -> None:
    props = as_json({"default_generation_settings": settings | {"n_ctx": 2048}})
    async with serving({"/props": props, "/v1/models": listed("m", meta={"n_ctx": 4096})}) as (endpoint, _):
        seen = await adapter_for("llamacpp").capabilities(endpoint)
        assert (seen.per_event_timings, seen.context_tok, seen.cache_block_tok) == (timings, 2048, 1)


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
async def test_sglang_says_its_version_and_its_keys_stay_where_they_are(path: str) -> None:
    info = {"version": "0.5.19", "api_key": "server-secret", "page_size": 64, "context_length": 8192}
    async with serving({path: as_json(info), "/v1/models": listed("m")}) as (endpoint, _):
        identity = await adapter_for("sglang").identity(endpoint)
        seen = await adapter_for("sglang").capabilities(endpoint)
        assert (identity.version, identity.version_source) == ("0.5.19", path)
        assert (seen.cache_block_tok, seen.context_tok) == (64, 8192)
        assert "server-secret" not in f"{identity} {seen}"


async def test_metrics_of_a_gateway_are_not_those_of_an_engine() -> None:
    replies = {"/metrics": as_text("litellm_requests_total 5\n"), "/v1/models": listed("m")}
    async with serving(replies) as (endpoint, _):
        for kind in KINDS:
            assert await adapter_for(kind).counters(endpoint) is None


async def test_an_unknown_server_is_read_by_what_it_speaks() -> None:
    async with serving(VLLM, model="smol") as (endpoint, _):
        known = await adapter_for("vllm").counters(endpoint)
        assert await adapter_for("openai").counters(endpoint) == known


def test_a_kind_that_there_is_not_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean `llamacpp`"):
        adapter_for("llama.cpp")
