"""A client that leaves frees the engine, in every phase, and nobody answers it again."""

import asyncio
import json

import pytest

from pitstop.gateway.drain import drain
from support.gateway_world import WITH_FALLBACK, world
from support.scripted_engine import TALK, failing, silent, well


async def mid_stream(_request, wire):
    await wire.begin_stream()
    while not wire.gone.is_set():
        await wire.chunk(TALK[1])
        await asyncio.sleep(0.01)


async def half_a_reply(_request, wire):
    await wire.send(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"id":')
    await wire.gone.wait()


async def head_only(_request, wire):
    await wire.begin_stream()
    await wire.gone.wait()


async def comments_only(_request, wire):
    await wire.begin_stream()
    while not wire.gone.is_set():
        await wire.chunk(b": ping\n\n")
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("script", [silent, mid_stream, half_a_reply, head_only, comments_only])
async def test_the_engine_is_free_at_once_when_the_client_leaves(tmp_path, script, stream):
    async with world(tmp_path, WITH_FALLBACK, a=script, b=well) as there:
        request = asyncio.create_task(read_all(there.chat(stream=stream)))
        await there.until(lambda: there.inside() == 1 and there.engines["a"].seen)
        await asyncio.sleep(0.03)
        request.cancel()
        async with asyncio.timeout(1):
            await there.until(lambda: there.engines["a"].left == 1)
        account = await there.account()
        assert (account.status, account.outcome) == (499, "client-gone")
        assert there.inside() == 0
        assert there.front.total == 0
        assert there.engines["b"].seen == []
        assert there.front.health["a"].failures == 0


async def read_all(request):
    async with request as reply:
        return await reply.read()


async def test_a_client_that_leaves_during_the_fallback_frees_the_fallback(tmp_path):
    async with world(tmp_path, WITH_FALLBACK, a=failing(500), b=silent) as there:
        request = asyncio.create_task(read_all(there.chat()))
        await there.until(lambda: there.inside("b") == 1 and there.engines["b"].seen)
        request.cancel()
        await there.until(lambda: there.engines["b"].left == 1)
        assert (await there.account()).status == 499


async def test_a_client_that_leaves_the_held_door_is_forgotten(tmp_path):
    async with world(tmp_path, a=well) as there:
        await asyncio.to_thread(drain, there.home, "a")
        request = asyncio.create_task(read_all(there.chat()))
        await there.until(lambda: there.front.doors.waiting == 1)
        request.cancel()
        await there.until(lambda: there.front.doors.waiting == 0)
        assert (await there.account()).status == 499


async def test_a_client_that_leaves_in_its_own_body_is_forgotten(tmp_path):
    async with world(tmp_path, a=well) as there:
        _reader, writer = await asyncio.open_connection("127.0.0.1", there.port)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {there.key}\r\ncontent-length: 999\r\n\r\n"
        writer.write(head.encode() + b'{"model"')
        await there.until(lambda: there.front.total == 1)
        writer.close()
        await there.until(lambda: there.front.total == 0)
        assert (await there.account()).status == 499


async def test_what_was_generated_until_the_client_left_is_accounted_for(tmp_path):
    async def counting(_request, wire):
        await wire.begin_stream()
        event = {"choices": [{"index": 0, "delta": {"content": "x"}}], "usage": {"completion_tokens": 41}}
        await wire.chunk(b"data: " + json.dumps(event).encode() + b"\n\n")
        await wire.gone.wait()

    async with world(tmp_path, a=counting) as there:
        async with there.chat(stream=True) as reply:
            await reply.content.readany()
        assert (await there.account()).usage.completion_tokens == 41


async def test_a_slow_client_stops_the_engine_and_is_let_go(tmp_path):
    sent = 0

    async def endless(_request, wire):
        nonlocal sent
        await wire.begin_stream()
        while not wire.gone.is_set():
            await wire.chunk(b"data: " + b"x" * 60000 + b"\n\n")
            sent += 60000

    lines = 'client_stall_deadline = "500 ms"'
    async with world(tmp_path, gateway_lines=lines, a=endless) as there:
        _reader, writer = await asyncio.open_connection("127.0.0.1", there.port, limit=1024)
        writer.transport.pause_reading()
        body = b'{"model":"mid","stream":true}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {there.key}\r\n"
        writer.write(head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body)
        account = await there.account()
        assert account.status == 499
        assert sent < 32 * 2**20  # the kernel's socket buffers on four sides, and little of ours
        await there.until(lambda: there.engines["a"].left == 1)
        writer.transport.abort()
