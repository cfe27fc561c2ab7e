"""The whole way, against an endpoint that knows the truth."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pitstop.client.chat import ChatClient, raise_unreachable
from pitstop.client.endpoint import ChatRequest, Endpoint
from pitstop.client.lag import LagWatch
from pitstop.client.loop import run
from pitstop.client.negotiate import Agreement, UsageMode
from pitstop.client.refusal import Failure
from pitstop.core.errors import RequestRefused, Unreachable
from support.paced import Pace, PacedServer, Site


@pytest.fixture(scope="module")
def server() -> Iterator[PacedServer]:
    with PacedServer(Pace(rate_tok_s=2000, ttft_s=0.01), Site(context_tok=4096)) as running:
        yield running


def request(max_tokens: int = 40, text: str = "x", **pace: Any) -> ChatRequest:
    return ChatRequest(({"role": "user", "content": text},), max_tokens, extra={"paced": pace})


def client(server: PacedServer, **more: Any) -> ChatClient:
    return ChatClient(Endpoint(server.base_url, "paced"), deadline_s=5.0, **more)


async def test_a_reply_is_accounted_as_the_server_counts(server: PacedServer) -> None:
    asking = client(server)
    reply = await asking.stream(request(tokens_per_event=[3, 3], reasoning=9, cached=0), ruler="decode", case="c")
    record = reply.record
    assert (record.ok, record.ruler, record.case) == (True, "decode", "c")
    assert (record.completion_tokens, record.events, record.reasoning_tokens, record.cached_tokens) == (40, 14, 9, 0)
    assert reply.events[0].total == 3
    assert reply.events[-1].total == 40
    assert reply.exchange.complete
    assert asking.agreement == Agreement(settled=True)


@pytest.mark.parametrize("shape", "abcdef")
async def test_every_shape_of_usage_is_read(server: PacedServer, shape: str) -> None:
    reply = await client(server).stream(request(usage_shape=shape, options="no-continuous"))
    assert reply.record.completion_tokens == (None if shape == "f" else 40)


@pytest.mark.parametrize(
    ("options", "mode", "tokens"),
    [("all", UsageMode.PER_EVENT, 40), ("no-continuous", UsageMode.AT_END, 40), ("refuse", UsageMode.NONE, None)],
)
async def test_what_a_server_refuses_is_learnt_once(
    server: PacedServer, options: str, mode: UsageMode, tokens: int | None
) -> None:
    asking = client(server)
    before = len(server.requests)
    reply = await asking.stream(request(options=options))
    assert (reply.ok, asking.agreement, reply.record.completion_tokens) == (True, Agreement(mode, settled=True), tokens)
    tries = len(server.requests) - before
    assert tries == 3 - mode
    await client(server, agreement=asking.agreement).stream(request(options=options))
    assert len(server.requests) - before == tries + 1


async def test_a_refusal_that_is_about_something_else_teaches_nothing(server: PacedServer) -> None:
    asking = client(server)
    with pytest.raises(RequestRefused):
        await asking.stream(request(status=418))
    assert asking.agreement == Agreement()


async def test_an_unknown_model_lists_those_there_are(server: PacedServer) -> None:
    with pytest.raises(RequestRefused) as caught:
        await ChatClient(Endpoint(server.base_url, "pacd")).stream(request())
    assert "no model 'pacd'" in caught.value.message
    assert "paced" in caught.value.hint


async def test_a_wrong_key_says_key_and_shows_none() -> None:
    with PacedServer(site=Site(api_key="sk-right")) as server:
        for key in (None, "sk-wrong"):
            with pytest.raises(RequestRefused, match="API key") as caught:
                await ChatClient(Endpoint(server.base_url, "paced", key)).stream(request())
            assert "sk-" not in str(caught.value)
        assert (await ChatClient(Endpoint(server.base_url, "paced", "sk-right")).stream(request(4))).ok


async def test_too_long_says_both_numbers(server: PacedServer) -> None:
    with pytest.raises(RequestRefused, match=r"needs 5049 tokens and the context holds 4096"):
        await client(server).stream(request(1, text="x" * 20160))


@pytest.mark.parametrize(
    ("pace", "failure"),
    [
        ({"status": 429}, Failure.BUSY),
        ({"status": 503}, Failure.BUSY),
        ({"status": 500}, Failure.SERVER),
        ({"error_after": 10}, Failure.STREAM_ERROR),
        ({"end_after": 10}, Failure.ENDED_EARLY),
        ({"cut_after": 10}, Failure.BROKEN),
    ],
)
async def test_a_request_that_fails_is_a_reply_with_its_reason(
    server: PacedServer, pace: dict[str, Any], failure: Failure
) -> None:
    reply = await client(server).stream(request(**pace))
    assert not reply.ok
    assert reply.refusal is not None
    assert reply.refusal.failure is failure
    assert reply.record.decode_tok_s is None
    raise_unreachable(reply)


async def test_an_engine_that_stays_silent_ends_at_the_deadline(server: PacedServer) -> None:
    asking = ChatClient(Endpoint(server.base_url, "paced"), deadline_s=0.1)
    reply = await asking.stream(request(ttft_s=9.0, keep_alive_s=0.01))
    assert reply.refusal is not None
    assert reply.refusal.failure is Failure.TIMEOUT
    assert reply.record.ttft_s is None
    assert reply.record.ttfr_s is not None


async def test_nobody_there_is_a_failed_reply_that_can_be_raised() -> None:
    reply = await ChatClient(Endpoint("http://127.0.0.1:1/v1", "m")).stream(request())
    assert (reply.ok, reply.record.e2e_s) == (False, None)
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1 port 1"):
        raise_unreachable(reply)


async def test_many_streams_start_together_and_keep_their_order(server: PacedServer) -> None:
    replies = await client(server).gather([request(10 + n, ttft_s=0.05) for n in range(16)])
    assert [reply.record.completion_tokens for reply in replies] == [10 + n for n in range(16)]
    sent = [reply.exchange.sent_at for reply in replies]
    first = [reply.exchange.times[0] for reply in replies]
    assert None not in sent
    assert max(t for t in sent if t) < min(first)


async def test_a_failure_of_one_does_not_touch_the_others(server: PacedServer) -> None:
    replies = await client(server).gather([request(), request(cut_after=5), request(status=503)])
    assert [reply.ok for reply in replies] == [True, False, False]


async def test_a_server_that_flushes_gives_no_decode_rate(server: PacedServer) -> None:
    reply = await client(server).stream(request(200, flush=True))
    assert reply.ok
    assert reply.record.decode_tok_s is None
    assert reply.decode.buffered
    assert "buffered" in reply.record.anomalies


def test_it_runs_under_uvloop_and_leaves_garbage_collection_as_it_was(server: PacedServer) -> None:
    async def main() -> bool:
        return "uvloop" in type(asyncio.get_running_loop()).__module__ and (await client(server).stream(request())).ok

    assert gc.isenabled()
    assert run(main())
    assert gc.isenabled()


async def test_garbage_is_left_alone_until_the_last_of_several_clients_is_done(server: PacedServer) -> None:
    """mutual-load: the load's request may end in the middle of the measured one."""
    long, short = client(server), client(server)
    task = asyncio.create_task(long.stream(request(200, rate_tok_s=400)))
    await short.stream(request(5))
    assert not gc.isenabled()
    assert (await task).ok
    assert gc.isenabled()


async def test_a_cancelled_stream_leaves_no_connection_behind(server: PacedServer) -> None:
    asked = ChatRequest(
        ({"role": "user", "content": "x"},), 1000, extra={"user": "cancelled", "paced": {"rate_tok_s": 100}}
    )
    task = asyncio.create_task(client(server).stream(asked))
    await until(lambda: any(one.get("user") == "cancelled" for one in server.requests))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    def mine() -> list[dict[str, Any]]:  # streams of other tests may end meanwhile
        return [one for one in server.truths if one["name"] == "cancelled"]

    await until(lambda: bool(mine()))
    assert mine()[0]["client_gone"]


async def until(true: Callable[[], bool]) -> None:
    """However long it takes on a busy machine, up to half a minute."""
    for _ in range(3000):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen in time")


# -- the tool's own delay


def watch(*delays: tuple[float, float]) -> LagWatch:
    """A watch that saw these delays: (due, ran)."""
    found = LagWatch()
    found._due, found._ran = [due for due, _ in delays], [ran for _, ran in delays]
    return found


@pytest.mark.parametrize(
    ("stamp", "late_s"),
    [(0.9, 0.0), (1.0, 0.0), (1.01, 0.01), (1.02, 0.02), (1.03, 0.02), (1.05, 0.0), (2.1, 0.1), (9.0, 0.0)],
)
def test_a_stamp_is_late_by_what_the_loop_was_late(stamp: float, late_s: float) -> None:
    assert watch((1.0, 1.02), (2.0, 2.1)).late_by([stamp]) == pytest.approx(late_s)


async def test_a_loop_that_is_blocked_is_noticed() -> None:
    from time import monotonic, sleep

    with LagWatch() as running:
        await asyncio.sleep(0.01)
        sleep(0.05)  # noqa: ASYNC251 - the blocking is what is tested
        stamp = monotonic()
        await asyncio.sleep(0.01)
    assert running.worst_s > 0.03
    assert running.late_by([stamp]) > 0.03
    assert running.late_by([]) == 0.0


async def test_a_reply_that_the_tool_was_late_for_says_so(server: PacedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LagWatch, "late_by", lambda *_: 0.03)
    reply = await client(server).stream(request())
    assert "client-late: 30 ms" in reply.record.anomalies
    assert reply.client_late_s == 0.03
