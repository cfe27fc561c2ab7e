"""Limits of keys, bodies, time and memory, and bytes that are no HTTP."""

import asyncio
import json
import ssl
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitstop.core.errors import ConfigError, UsageError
from pitstop.core.home import Home
from pitstop.gateway.service import Service
from support.gateway_world import ONE_ROUTE, make_key, world
from support.scripted_engine import DONE, TALK, silent, well


async def test_a_key_has_its_rate(tmp_path):
    async with world(tmp_path, a=well) as there:
        there.key = make_key(there.home, "slow", rate="2/h")
        there.service.reload()
        statuses = []
        for _ in range(3):
            async with there.chat() as reply:
                statuses.append(reply.status)
        assert statuses == [200, 200, 429]
        assert 1 < int(reply.headers["retry-after"]) <= 1801


async def test_a_key_has_its_number_at_once(tmp_path):
    async with world(tmp_path, a=silent) as there:
        there.key = make_key(there.home, "one", concurrency=1)
        there.service.reload()
        first = asyncio.create_task(there.chat().__aenter__())
        await there.until(lambda: there.inside() == 1)
        async with there.chat() as reply:
            assert reply.status == 429
        first.cancel()
        await there.until(lambda: there.inside() == 0)


@pytest.mark.parametrize(
    ("gateway_lines", "routes"),
    [("max_in_flight = 1", ONE_ROUTE), ("", ONE_ROUTE + "max_in_flight = 1")],
)
async def test_what_is_too_much_is_shed(tmp_path, gateway_lines, routes):
    async with world(tmp_path, routes, gateway_lines=gateway_lines, a=silent) as there:
        first = asyncio.create_task(there.chat().__aenter__())
        await there.until(lambda: there.inside() == 1)
        async with there.chat() as reply:
            assert reply.status == 429
            assert "retry-after" in reply.headers
        first.cancel()
        await there.until(lambda: there.front.total == 0)


async def test_requests_are_shed_when_memory_is_short(tmp_path):
    async with world(tmp_path, a=well) as there:
        there.reconfigure('shed_below = "0 B"', 'shed_below = "1000 TB"')
        await there.until(lambda: there.front.short_of_memory)
        async with there.chat() as reply:
            assert reply.status == 429


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"x" * 3000, {}, 413),
        (b"{}", {"content-encoding": "gzip"}, 415),
        (b"", {}, 400),
        (b"null", {}, 400),
        (b"[]", {}, 400),
        (b"{", {}, 400),
        (b'{"model":"mid"} {}', {}, 400),
        (b'{"model":null}', {}, 400),
        (b'{"model":["mid"]}', {}, 400),
        (b'{"model":"mid","stream":"true"}', {}, 400),
        (b'{"model":"mid","x":' + b"[" * 900 + b"]" * 900 + b"}", {}, 200),
        (b'{"model":"\xff"}', {}, 400),
        (b'\xef\xbb\xbf{"model":"mid"}', {}, 400),
        (b'{"model":"mid","n":1e999,"m":123456789012345678901234567890}', {}, 200),
        (b'{"model":"nobody"}', {}, 404),
    ],
)
async def test_a_body_that_no_engine_should_see_is_refused(tmp_path, body, headers, status):
    limit = 'max_body = "2900 B"'
    async with world(tmp_path, gateway_lines=limit, a=well) as there, there.post(body, **headers) as reply:
        assert reply.status == status, await reply.text()
        if status != 200:
            assert (await reply.json())["error"]["message"]
            assert there.engines["a"].seen == []


async def test_a_chunked_body_is_limited_too(tmp_path):
    async def parts():
        for _ in range(10):
            yield b"x" * 500

    async with world(tmp_path, gateway_lines='max_body = "2900 B"', a=well) as there, there.post(parts()) as reply:
        assert reply.status == 413


async def test_a_body_that_does_not_come_is_not_waited_for(tmp_path):
    async with world(tmp_path, gateway_lines='body_deadline = "50 ms"', a=well) as there:
        answer = await raw(there, f"x-api-key: {there.key}\r\ncontent-length: 10\r\n".encode(), b"{")
        assert b" 408 " in answer.splitlines()[0]


async def test_a_head_that_does_not_come_is_not_waited_for(tmp_path):
    async with world(tmp_path, gateway_lines='header_deadline = "50 ms"', a=well) as there:
        reader, writer = await asyncio.open_connection("127.0.0.1", there.port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nx: y\r\n")
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        writer.close()


async def test_expect_continue_is_answered(tmp_path):
    async with world(tmp_path, a=well) as there:
        body = b'{"model":"mid"}'
        head = f"x-api-key: {there.key}\r\ncontent-length: {len(body)}\r\nexpect: 100-continue\r\nconnection: close\r\n"
        answer = await raw(there, head.encode(), body)
        assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


async def raw(there, head, body=b"", line=b"POST /v1/chat/completions HTTP/1.1"):
    reader, writer = await asyncio.open_connection("127.0.0.1", there.port)
    writer.write(line + b"\r\nhost: x\r\n" + head + b"\r\n" + body)
    try:
        async with asyncio.timeout(5):
            return await reader.read()
    finally:
        writer.close()


POST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
GET = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n"
HOSTILE = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\r\n\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"CONNECT x:1 HTTP/1.1\r\n\r\n",
    b"GET http://[::1 HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET \xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
    POST + b"content-length: -1\r\n\r\n",
    POST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    POST + b"transfer-encoding: chunked\r\n\r\nZZ\r\n",
    POST + b"x-api-key: KEY\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
    GET + b"x: " + b"y" * 40000 + b"\r\n\r\n",
    GET + b"x: y\r\n" * 500 + b"\r\n",
    GET + b"x-api-key: KEY\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    GET + b"authorization: \xff\x00\r\n\r\n",
]


async def test_bytes_that_are_no_http_get_no_traceback_and_no_server_error(tmp_path, caplog):
    async with world(tmp_path, gateway_lines='header_deadline = "200 ms"', a=well) as there:
        for attack in HOSTILE:
            reader, writer = await asyncio.open_connection("127.0.0.1", there.port)
            writer.write(attack.replace(b"KEY", there.key.encode()))
            async with asyncio.timeout(5):
                answer = await reader.read()
            writer.close()
            assert b"HTTP/1.1 5" not in answer, attack
            assert b"Traceback" not in answer
        async with there.chat() as reply:
            assert reply.status == 200
    assert not [record for record in caplog.records if record.exc_info]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    *("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "extra_body", "system"),
    *("thinking_token_budget", "chat_template_kwargs", "input", "instructions", "temperature", "n_predict"),
)
BODIES = st.binary(max_size=60) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), JSON, max_size=6).map(
    lambda fields: json.dumps({"model": "mid", **fields}).encode()
)
ROUTE_WITH_ALL = (
    ONE_ROUTE
    + """
system_prompt = "S"
thinking_token_budget = 5
max_tokens = 10
max_tokens_limit = 20
sampling = { temperature = 0.5 }
chat_template_kwargs = { enable_thinking = true }
"""
)


async def test_no_body_and_no_header_makes_the_gateway_fail(tmp_path, caplog):
    async with world(tmp_path, ROUTE_WITH_ALL, engine_lines='supports = ["thinking_token_budget"]\n', a=well) as there:
        paths = ["chat/completions", "completions", "responses", "messages", "embeddings"]
        header = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=20)
        loop = asyncio.get_running_loop()
        seen: set[int] = set()

        async def one(body, path, value):
            headers = {"x-request-id": value, "accept": value, "anthropic-version": value, "expect": value}
            async with there.post(body, path=path, **headers) as reply:
                await reply.read()
                return reply.status

        @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
        @given(BODIES, st.sampled_from(paths), header)
        def attack(body, path, value):
            status = asyncio.run_coroutine_threadsafe(one(body, path, value), loop).result(10)
            seen.add(status)
            assert status < 500

        await asyncio.to_thread(attack)
        assert {200, 400} <= seen
        assert all(account.outcome != "defect" for account in there.accounts)
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_changed_file_is_read_and_a_broken_one_is_not(tmp_path):
    async with world(tmp_path, a=silent) as there:
        request = asyncio.create_task(there.chat().__aenter__())
        await there.until(lambda: there.inside() == 1)
        there.reconfigure("gateway.route.mid", "gateway.route.other")
        await there.until(lambda: "other" in there.front.rules.stations)
        there.reconfigure('engine = "a"', 'engine = "nobody"')
        await asyncio.sleep(0.3)
        assert "other" in there.front.rules.stations
        assert there.inside() == 1  # nobody was thrown out
        request.cancel()
        await there.until(lambda: there.inside() == 0)


async def test_a_graceful_stop_lets_streams_end_and_takes_no_new_request(tmp_path):
    go_on = asyncio.Event()

    async def slow(_request, wire):
        await wire.begin_stream()
        await wire.chunk(TALK[1])
        await go_on.wait()
        await wire.chunk(TALK[3] + DONE)
        await wire.end_stream()

    async with world(tmp_path, a=slow) as there, there.chat(stream=True) as reply:
        await reply.content.readany()
        there.service.stop()
        await there.until(lambda: there.front.stopping)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", there.port)
        go_on.set()
        assert (await reply.read()).endswith(DONE)


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
async def test_another_address_than_loopback_needs_a_key(tmp_path, listen):
    config = tmp_path / "pitstop.toml"
    engine = '[engine.a]\nkind = "vllm"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n'
    config.write_text(f'{engine}[gateway]\nlisten = "{listen}"\n{ONE_ROUTE}')
    with pytest.raises(UsageError, match="without a single key"):
        await Service(Home(tmp_path / "home").prepared(), config, {}, lambda _account: None).run()


async def test_a_taken_port_is_a_sentence(tmp_path):
    async with world(tmp_path, a=well) as there:
        there.reconfigure("127.0.0.1:0", there.address)
        with pytest.raises(UsageError, match="cannot listen"):
            await Service(there.home, there.config_path, {}, lambda _account: None).run()


async def test_tls_is_served_from_files(tmp_path):
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    await asyncio.to_thread(subprocess.run, [*make.split(), *names], check=True, capture_output=True)
    lines = f'tls_certificate = "{certificate}"\ntls_key = "{key}"'
    async with world(tmp_path, gateway_lines=lines, a=well) as there:
        trust = ssl.create_default_context(cafile=str(certificate))
        headers = {"x-api-key": there.key}
        async with there.http.get(f"https://{there.address}/v1/models", headers=headers, ssl=trust) as reply:
            assert reply.status == 200


async def test_files_that_are_no_certificate_are_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="cannot be used"):
        async with world(tmp_path, gateway_lines='tls_certificate = "/dev/null"\ntls_key = "/dev/null"', a=well):
            pass


@pytest.mark.parametrize(
    ("routes", "sentence"),
    [
        ('[gateway.route.m]\nengine = "b"', "there is no engine 'b'"),
        ('[gateway.route.m]\nengine = "a"\nfallback = "n"', "there is no route 'n'"),
        ('[gateway.route.m]\nengine = "a"\nfallback = "m"', "in a circle: m -> m"),
        (
            '[gateway.route.m]\nengine = "a"\nfallback = "n"\n[gateway.route.n]\nengine = "a"\nfallback = "m"',
            "m -> n -> m",
        ),
        ('[gateway.route."a b"]\nengine = "a"', "a route's name"),
        ('[gateway.route.m]\nengine = "a"\nmax_tokens = 0', "at least 1"),
        ('[gateway.route.m]\nengine = "a"\nmax_tokens = 9\nmax_tokens_limit = 3', "above the limit"),
        ('[gateway.route.m]\nengine = "a"\nwhen_held = "fallback"', "the route has none"),
        ('[gateway.route.m]\nengine = "a"\nsampling = { temprature = 1 }', "did you mean `temperature`?"),
    ],
)  # fmt: skip
async def test_what_cannot_work_is_refused_at_load(tmp_path, routes, sentence):
    with pytest.raises(ConfigError) as caught:
        async with world(tmp_path, routes, a=well):
            pass
    assert sentence in str(caught.value)


async def test_nesting_without_end_is_refused_or_passed_on_whole_as_the_interpreter_can_read_it(tmp_path):
    body = b'{"model":"mid","stream_options":' + b"[" * 1400 + b"]" * 1400 + b"}"
    async with world(tmp_path, gateway_lines='max_body = "2900 B"', a=well) as there, there.post(body) as reply:
        assert reply.status in (200, 400), await reply.text()
