"""What comes back through a whole gateway: bytes, headers, keys, models, accounts."""

import json

import pytest

from support.gateway_world import ONE_ROUTE, make_key, world
from support.scripted_engine import DONE, TALK, USAGE, failing, frame, reply_body, streaming, well


async def test_a_reply_comes_back_byte_for_byte_and_says_who_answered(tmp_path):
    async with world(tmp_path, a=well) as there, there.chat() as reply:
        assert await reply.read() == reply_body()
        assert reply.headers["x-pitstop-route"] == "mid"
        assert reply.headers["x-pitstop-engine"] == "a"
        account = await there.account()
        assert (account.usage.prompt_tokens, account.usage.completion_tokens) == (7, 2)
        assert (account.key, account.route, account.status, account.outcome) == ("tester", "mid", 200, "ok")


async def test_a_stream_comes_back_byte_for_byte_without_the_usage_that_was_not_asked_for(tmp_path):
    async with world(tmp_path, a=well) as there, there.chat(stream=True) as reply:
        assert await reply.read() == b"".join([*TALK, DONE])
        assert there.engines["a"].seen[0].json["stream_options"] == {"include_usage": True}
        account = await there.account()
        assert account.usage.completion_tokens == 2
        assert account.ttft_s is not None


async def test_usage_that_was_asked_for_comes_back_as_it_is(tmp_path):
    options = {"include_usage": True}
    async with world(tmp_path, a=well) as there, there.chat(stream=True, stream_options=options) as reply:
        assert await reply.read() == b"".join([*TALK, frame(None, usage=USAGE), DONE])


@pytest.mark.parametrize(
    "odd",
    [
        b":\n\n",
        b": ping - 2024-02-23 06:52:12.876102\r\n\r\n",
        b"event: ping\ndata:\n\n",
        b'data:{"choices":[{"index":0,"delta":{"reasoning":"r","tool_calls":[],"token_ids":[1]}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{}}]}\r\n\r\n',
        b'data: {"choices":\ndata: [{"index":0,"delta":{"content":"x"}}]}\n\n',
        b"id: 7\n: ping\n\n",
        b"data: \xf0\x9f\x9a\x80 not json\n\n",
    ],
)
async def test_whatever_an_engine_streams_passes_untouched(tmp_path, odd):
    frames = [TALK[0], odd, *TALK[1:], DONE]
    async with world(tmp_path, a=streaming(*frames)) as there, there.chat(stream=True) as reply:
        assert await reply.read() == b"".join(frames)


async def test_a_client_error_of_the_engine_comes_back_as_it_is(tmp_path):
    body = b'{"object":"error","message":"too long","code":400}'
    async with world(tmp_path, a=failing(400, body)) as there, there.chat() as reply:
        assert (reply.status, await reply.read()) == (400, body)
        assert (await there.account()).outcome == "engine-refused"


async def test_the_clients_key_never_reaches_the_engine_and_the_engines_own_does(tmp_path):
    async with world(tmp_path, engine_lines='api_key_env = "A_KEY"\n', a=well) as there:
        headers = {"x-api-key": "x", "cookie": "s=1", "api-key": "y", "x-goog-api-key": "z", "x-forwarded-for": "q"}
        body = b'{"model":"mid","messages":[]}'
        async with there.post(body, **headers) as reply:
            assert reply.status == 200
        seen = there.engines["a"].seen[0].headers
        assert seen["authorization"] == "Bearer engine-secret"
        assert there.key not in json.dumps(seen)
        assert not {"x-api-key", "cookie", "api-key", "x-goog-api-key", "x-forwarded-for"} & seen.keys()


async def test_an_engine_that_refuses_our_own_key_is_not_the_clients_fault(tmp_path):
    async with world(tmp_path, a=failing(401, b'{"error":"engine-secret wrong"}')) as there, there.chat() as reply:
        assert reply.status == 502
        assert b"engine-secret" not in await reply.read()


@pytest.mark.parametrize(
    "path",
    ["/metrics", "/v1/metrics", "/tokenize", "/sleep", "/v1/score", "/v1/chat/completions/", "/v1//chat/completions",
     "/v1/chat/completions/../../metrics", "/v1/chat%2fcompletions", "/V1/chat/completions", "/", "/v1/models/mid",
     "/v1/messages/count_tokens", "/invocations", "/pooling", "/health", "/props", "/slots", "//v1/models"],
)  # fmt: skip
async def test_no_other_path_of_the_engine_is_reachable(tmp_path, path):
    from yarl import URL

    async with world(tmp_path, a=well) as there:
        for method in ("GET", "POST"):
            target = URL(f"{there.url}{path}", encoded=True)
            async with there.http.request(method, target, headers={"x-api-key": there.key}) as reply:
                assert reply.status == 404
        assert there.engines["a"].seen == []


async def test_bad_keys_of_every_kind_get_one_and_the_same_answer(tmp_path):
    async with world(tmp_path, a=well) as there:
        expired = make_key(there.home, "late", expires="1ms")
        there.service.reload()
        almost = there.key[:-1] + ("A" if there.key[-1] != "A" else "B")
        bearers = ["Bearer", f"Basic {there.key}", "Bearer \u00e4", f"Bearer {there.key} x"]
        tries = [{}, {"x-api-key": almost}, {"x-api-key": expired}, *({"authorization": text} for text in bearers)]
        answers = set()
        for headers in tries:
            async with there.http.post(f"{there.url}/v1/chat/completions", data=b"{}", headers=headers) as reply:
                answers.add((reply.status, await reply.read()))
        assert len(answers) == 1
        assert answers.pop()[0] == 401
        for headers in ({"authorization": f"bEARER {there.key}"}, {"x-api-key": there.key}):
            async with there.http.get(f"{there.url}/v1/models", headers=headers) as reply:
                assert reply.status == 200


async def test_a_key_sees_and_uses_only_its_routes(tmp_path):
    routes = ONE_ROUTE + '[gateway.route.swift]\nengine = "a"\n'
    async with world(tmp_path, routes, a=well) as there:
        from pitstop.gateway.keys import Key, add_key

        def only_swift(identifier, digest):
            return Key(id=identifier, digest=digest, name="s", created_at_s=0, routes=("swift",))

        there.key = add_key(there.home, only_swift, "s")
        there.service.reload()
        async with there.http.get(f"{there.url}/v1/models", headers={"x-api-key": there.key}) as reply:
            assert [model["id"] for model in (await reply.json())["data"]] == ["swift"]
        for model, status in (("swift", 200), ("mid", 404), ("nobody", 404)):
            async with there.chat(model) as reply:
                assert reply.status == status


async def test_no_key_at_all_means_closed(tmp_path):
    from pitstop.gateway.keys import revoke_key

    async with world(tmp_path, a=well) as there:
        revoke_key(there.home, "tester")
        await there.until(lambda: len(there.front.keys) == 0)
        async with there.chat() as reply:
            assert reply.status == 401


async def test_an_engine_without_stream_options_is_asked_again_without_them(tmp_path):
    async def old(request, wire):
        if "stream_options" in request.json:
            await wire.reply(400, b'{"error":{"message":"stream_options: extra fields not permitted"}}')
        else:
            await wire.stream(*TALK, DONE)

    async with world(tmp_path, a=old) as there:
        for number in (1, 2):
            async with there.chat(stream=True) as reply:
                assert await reply.read() == b"".join([*TALK, DONE])
            account = await there.account(number)
            assert account.usage.completion_tokens is None
        assert len(there.engines["a"].seen) == 3  # learnt


async def test_a_budget_that_the_engine_ignored_is_counted(tmp_path):
    async def heedless(_request, wire):
        await wire.reply(200, reply_body(completion_tokens_details={"reasoning_tokens": 381}))

    routes = ONE_ROUTE + "thinking_token_budget = 100\n"
    async with world(tmp_path, routes, engine_lines='supports = ["thinking_token_budget"]\n', a=heedless) as there:
        async with there.chat():
            account = await there.account()
        assert (account.budget, account.budget_kept) == (100, "exceeded")


async def test_no_account_and_no_log_line_holds_a_key_or_content(tmp_path):
    async with world(tmp_path, a=well) as there, there.chat(user="SECRET-CONTENT"):
        line = (await there.account()).line()
    assert there.key not in line
    assert "SECRET" not in line
