"""Another engine answers, but only before the first byte, and never on a client's own mistake."""

import asyncio

import pytest

from support.gateway_world import WITH_FALLBACK, world
from support.scripted_engine import DONE, TALK, failing, frame, silent, streaming, well

ERROR = b'data: {"error":{"message":"CUDA error","type":"InternalServerError","code":500}}\n\n'
QUICK = WITH_FALLBACK.replace('engine = "a"', 'engine = "a"\nfirst_byte_deadline = "50 ms"\nanswer_deadline = "50 ms"')


async def cut_at_once(_request, wire):
    wire.cut()


async def cut_in_the_head(_request, wire):
    await wire.send(b"HTTP/1.1 200 OK\r\ncontent-ty")
    wire.cut()


async def no_http(_request, wire):
    await wire.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    wire.cut()


async def cut_before_the_first_event(_request, wire):
    await wire.begin_stream()
    await wire.chunk(b'data: {"choices":[')
    wire.cut()


async def cut_in_the_body(_request, wire):
    await wire.send(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"id":')
    wire.cut()


async def empty_stream(_request, wire):
    await wire.stream()


async def redirecting(_request, wire):
    await wire.reply(307, b"", extra="location: http://127.0.0.1:1/\r\n")


STATUSES = [failing(status) for status in (500, 502, 503, 529)]
FAILURES = [*STATUSES, cut_at_once, cut_in_the_head, no_http, cut_in_the_body, silent, redirecting]
OLD_ERROR = streaming(b'data: {"object":"error"}\n\n')
STREAM_FAILURES = [streaming(ERROR), OLD_ERROR, cut_before_the_first_event, empty_stream]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
async def test_what_fails_before_the_first_byte_is_answered_by_the_fallback(tmp_path, failure, stream):
    async with world(tmp_path, QUICK, a=failure, b=well) as there, there.chat(stream=stream) as reply:
        assert reply.status == 200
        assert reply.headers["x-pitstop-route"] == "swift"
        assert b"Hel" in await reply.read()
        account = await there.account()
        assert (account.route, account.answered_by) == ("mid", "swift")
        assert account.failures


@pytest.mark.parametrize("failure", STREAM_FAILURES)
async def test_a_stream_that_fails_before_its_first_event_is_answered_by_the_fallback(tmp_path, failure):
    async with world(tmp_path, QUICK, a=failure, b=well) as there, there.chat(stream=True) as reply:
        assert await reply.read() == b"".join([*TALK, DONE])


async def test_an_engine_that_is_down_is_answered_for(tmp_path):
    async with world(tmp_path, WITH_FALLBACK, a=well, b=well) as there:
        await there.engines["a"].stop()
        async with there.chat() as reply:
            assert reply.headers["x-pitstop-engine"] == "b"


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422, 429])
async def test_a_clients_mistake_never_falls_back(tmp_path, status):
    async with world(tmp_path, WITH_FALLBACK, a=failing(status), b=well) as there, there.chat() as reply:
        assert reply.status == status
        assert there.engines["b"].seen == []


async def test_the_fallbacks_own_defaults_apply(tmp_path):
    routes = WITH_FALLBACK.replace('engine = "b"', 'engine = "b"\nsystem_prompt = "B"\nmax_tokens = 5')
    routes = routes.replace('fallback = "swift"', 'fallback = "swift"\nsystem_prompt = "A"')
    async with world(tmp_path, routes, a=failing(500), b=well) as there:
        async with there.chat():
            pass
        seen = there.engines["b"].seen[0].json
        assert (seen["messages"][0]["content"], seen["max_tokens"]) == ("B", 5)
        assert there.engines["a"].seen[0].json["messages"][0]["content"] == "A"


@pytest.mark.parametrize("before", [TALK[:2], (b": ping\n\n",)])
async def test_after_the_first_byte_the_stream_ends_with_an_error_and_nobody_else_answers(tmp_path, before):
    async def dies(_request, wire):
        await wire.begin_stream()
        for part in before:
            await wire.chunk(part)
        await wire.chunk(b'data: {"choices":[{"del')
        await asyncio.sleep(0.02)
        wire.cut()

    async with world(tmp_path, WITH_FALLBACK, a=dies, b=well) as there, there.chat(stream=True) as reply:
        body = await reply.read()
        assert body.startswith(b"".join(before) + b'data: {"error":')
        assert b"[DONE]" not in body
        assert there.engines["b"].seen == []
        assert (await there.account()).outcome == "torn"


async def test_a_stream_that_ends_without_its_end_is_told_to_be_torn(tmp_path):
    async with world(tmp_path, a=streaming(*TALK[:3])) as there, there.chat(stream=True) as reply:
        assert b'"error"' in (await reply.read()).removeprefix(b"".join(TALK[:3]))


async def test_a_stream_that_says_nothing_more_is_ended(tmp_path):
    async def stalls(_request, wire):
        await wire.begin_stream()
        await wire.chunk(TALK[1])
        await wire.gone.wait()

    routes = '[gateway.route.mid]\nengine = "a"\nstall_deadline = "50 ms"'
    async with world(tmp_path, routes, a=stalls) as there, there.chat(stream=True) as reply:
        assert b'"error"' in await reply.read()
        await there.until(lambda: there.engines["a"].left == 1)


async def test_without_a_fallback_the_engines_own_error_comes_back(tmp_path):
    async with world(tmp_path, a=failing(503, b'{"error":"Loading model"}')) as there, there.chat() as reply:
        assert (reply.status, await reply.read()) == (503, b'{"error":"Loading model"}')
        assert (await there.account()).outcome == "engine-failed"


async def test_without_a_fallback_an_error_as_the_first_event_comes_back(tmp_path):
    async with world(tmp_path, a=streaming(ERROR, DONE)) as there, there.chat(stream=True) as reply:
        assert await reply.read() == ERROR + DONE
        assert (await there.account()).outcome == "engine-failed"


async def test_when_all_fail_there_is_a_sentence_and_a_time_to_come_back(tmp_path):
    async with world(tmp_path, WITH_FALLBACK, a=cut_at_once, b=cut_at_once) as there, there.chat() as reply:
        assert reply.status == 502
        assert "engine" in (await reply.json())["error"]["message"]
        assert int(reply.headers["retry-after"]) > 0
        assert [text.partition(":")[0] for text in (await there.account()).failures] == ["mid", "swift"]


async def test_an_engine_that_keeps_failing_is_left_alone_and_comes_back_after_a_probe_and_one_answer(tmp_path):
    lines = 'eject_after = 2\neject_for = "100 ms"'
    async with world(tmp_path, WITH_FALLBACK, gateway_lines=lines, a=failing(500), b=well) as there:
        for _ in range(3):
            async with there.chat():
                pass
        assert len([seen for seen in there.engines["a"].seen if "POST" in seen.line]) == 2
        there.engines["a"].script = well
        await there.until(lambda: there.front.health["a"].service == "on-trial")
        async with there.chat() as reply:
            assert reply.headers["x-pitstop-engine"] == "a"
        assert there.front.health["a"].service == "serving"


async def test_a_kept_connection_that_the_engine_closed_costs_nobody_a_request(tmp_path):
    async def once(request, wire):
        await well(request, wire)
        wire.writer.close()

    async with world(tmp_path, a=once) as there:
        for _ in range(5):
            async with there.chat() as reply:
                assert reply.status == 200
                await reply.read()


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("messages", b'event: error\ndata: {"type":"error"'),
        ("responses", b'event: error\ndata: {"type":"error","code"'),
    ],
)
async def test_the_error_event_has_the_shape_of_its_api(tmp_path, path, wanted):
    first = b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3}}}\n\n'
    async with world(tmp_path, a=streaming(first)) as there, there.chat(stream=True, path=path) as reply:
        body = await reply.read()
        assert body.startswith(first + wanted)
        assert (await there.account()).usage.prompt_tokens == 3


async def test_usage_is_still_counted_when_the_stream_breaks_after_it(tmp_path):
    ik = frame({"content": "x"}, usage={"prompt_tokens": 3, "completion_tokens": 4})
    async with world(tmp_path, a=streaming(ik)) as there, there.chat(stream=True) as reply:
        await reply.read()
        assert (await there.account()).usage.completion_tokens == 4


async def test_a_bad_request_reaches_the_engine_once(tmp_path):
    body = b'{"error":{"message":"maximum context length is 4096"}}'
    async with world(tmp_path, a=failing(400, body)) as there, there.chat(stream=True) as reply:
        assert (reply.status, await reply.read()) == (400, body)
        assert len(there.engines["a"].seen) == 1
