"""A held door: fall back, wait, or come back later; and drains that cut nobody."""

import asyncio
import time

import pytest

from pitstop.gateway.drain import drain, in_flight, release
from pitstop.services.lease import acquire
from support.gateway_world import ONE_ROUTE, WITH_FALLBACK, world
from support.scripted_engine import DONE, TALK, well


async def in_thread(function, *arguments):
    return await asyncio.to_thread(function, *arguments)


async def test_drain_works_where_no_gateway_runs(tmp_path):
    from pitstop.core.home import Home

    home = Home(tmp_path).prepared()
    assert drain(home, "a") == 0
    assert in_flight(home, "a") == 0
    release(home, "a")
    release(home, "never-held")


async def test_a_held_engine_is_answered_for_by_the_fallback(tmp_path):
    async with world(tmp_path, WITH_FALLBACK, a=well, b=well) as there:
        assert await in_thread(drain, there.home, "a") == 0
        async with there.chat() as reply:
            assert reply.headers["x-pitstop-route"] == "swift"
        await in_thread(release, there.home, "a")
        async with there.chat() as reply:
            assert reply.headers["x-pitstop-route"] == "mid"


async def test_drain_counts_those_inside_and_lets_them_end(tmp_path):
    go_on = asyncio.Event()

    async def slow(request, wire):
        await wire.begin_stream()
        await wire.chunk(TALK[1])
        await go_on.wait()
        await wire.chunk(TALK[3] + DONE)
        await wire.end_stream()

    async with world(tmp_path, ONE_ROUTE + 'when_held = "refuse"', a=slow) as there:
        async with there.chat(stream=True) as reply:
            await reply.content.readany()
            assert await in_thread(drain, there.home, "a") == 1
            assert await in_thread(in_flight, there.home, "a") == 1
            async with there.chat() as refused:
                assert refused.status == 503
                assert int(refused.headers["retry-after"]) > 0
            go_on.set()
            assert (await reply.read()).endswith(DONE)
        await there.until(lambda: there.inside() == 0)
        assert await in_thread(in_flight, there.home, "a") == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_held_requests_wait_and_are_answered_when_the_door_opens(tmp_path, stream):
    async with world(tmp_path, gateway_lines='keepalive_every = "20 ms"', a=well) as there:
        await in_thread(drain, there.home, "a")
        waiting = asyncio.create_task(whole(there.chat(stream=stream)))
        await there.until(lambda: there.front.doors.waiting == 1)
        await asyncio.sleep(0.05)
        assert there.engines["a"].seen == []
        await in_thread(release, there.home, "a")
        status, body = await waiting
        assert status == 200
        if stream:
            assert body.startswith(b": waiting")
            assert body.endswith(b"".join([*TALK, DONE]))
        assert (await there.account()).held_s > 0.02


async def whole(request):
    async with request as reply:
        return reply.status, await reply.read()


async def test_waiting_has_an_end(tmp_path):
    async with world(tmp_path, ONE_ROUTE + 'hold_for = "50 ms"', a=well) as there:
        await in_thread(drain, there.home, "a")
        async with there.chat() as reply:
            assert reply.status == 503
            assert "retry-after" in reply.headers


async def test_waiting_has_an_end_also_when_comments_have_gone_out(tmp_path):
    lines = 'keepalive_every = "20 ms"'
    async with world(tmp_path, ONE_ROUTE + 'hold_for = "80 ms"', gateway_lines=lines, a=well) as there:
        await in_thread(drain, there.home, "a")
        async with there.chat(stream=True) as reply:
            body = await reply.read()
            assert body.startswith(b": waiting")
            assert b'data: {"error"' in body


async def test_only_so_many_may_wait(tmp_path):
    async with world(tmp_path, gateway_lines="max_held = 1", a=well) as there:
        await in_thread(drain, there.home, "a")
        first = asyncio.create_task(whole(there.chat()))
        await there.until(lambda: there.front.doors.waiting == 1)
        async with there.chat() as reply:
            assert reply.status == 503
        await in_thread(release, there.home, "a")
        assert (await first)[0] == 200


async def test_an_active_lease_holds_the_door_and_a_waiting_one_does_not(tmp_path):
    from pitstop.decisions.lease import Phase

    async with world(tmp_path, ONE_ROUTE + 'when_held = "refuse"', a=well) as there:
        lease = acquire(there.home, time.monotonic, purpose="trial", engines=("a",), trial="t", phase=Phase.WAITING)
        async with there.chat() as reply:
            assert reply.status == 200
        lease.renew(Phase.ACTIVE)
        await there.until(lambda: there.front.doors.held)
        async with there.chat() as reply:
            assert reply.status == 503
        lease.release()
        await there.until(lambda: not there.front.doors.held)
        async with there.chat() as reply:
            assert reply.status == 200


async def test_a_hold_of_a_process_that_is_gone_holds_nothing(tmp_path):
    import msgspec

    from pitstop.core.process_id import ProcessId
    from pitstop.gateway.holds import Holding, held_by_file

    async with world(tmp_path, a=well) as there:
        drain_file = there.home.root / "gateway/held/a.json"
        drain_file.parent.mkdir(parents=True)
        drain_file.write_bytes(msgspec.json.encode(Holding(ProcessId(2**22, 1, "another-boot"))))
        assert held_by_file(there.home) == set()
        drain_file.write_bytes(b"{torn")
        assert held_by_file(there.home) == set()


async def test_a_swap_under_load_loses_no_request(tmp_path):
    async with world(tmp_path, ONE_ROUTE, a=well) as there:
        stop = asyncio.Event()
        results = []

        async def client(number):
            while not stop.is_set():
                results.append(await whole(there.chat(stream=bool(number % 2))))

        clients = [asyncio.create_task(client(number)) for number in range(8)]
        for _ in range(3):
            await there.until(lambda: len(results) > 20)
            await in_thread(drain, there.home, "a")
            await there.until(lambda: there.inside() == 0)
            await there.engines["a"].stop()  # production is down
            await there.until(lambda: there.front.doors.waiting == 8)
            await there.engines["a"].start()
            await in_thread(release, there.home, "a")
            results.clear()
        stop.set()
        await asyncio.gather(*clients)
        assert {status for status, _body in results} <= {200}
        assert all(account.outcome == "ok" for account in there.accounts)
        assert all(not account.failures for account in there.accounts)


async def test_a_stale_socket_of_a_killed_gateway_is_no_gateway(tmp_path):
    import socket

    from pitstop.core.home import Home

    home = Home(tmp_path).prepared()
    folder = home.root / "gateway/control"
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "4194304.sock"))
    assert in_flight(home, "a") == 0
    assert list(folder.iterdir()) == []
