import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.client.endpoint import Endpoint
from pitstop.client.exchange import Exchange, Fault
from pitstop.decisions.watchdog import Probe
from pitstop.services.watchdog.probe import ask, judge
from support.raw_server import OK, saying, serving

ROLE = {"role": "assistant"}


def reply(**message):
    return {"choices": [{"index": 0, "message": ROLE | message, "finish_reason": "length"}]}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            reply(content="", reasoning="The") | {"usage": {"completion_tokens": 1}}, Probe.TOKEN, id="thinking"
        ),
        pytest.param(reply(content=None, reasoning_content="Th"), Probe.TOKEN, id="null content, other spelling"),
        pytest.param(reply() | {"usage": {"completion_tokens": 1}}, Probe.TOKEN, id="no content key, usage alone"),
        pytest.param(reply(content="Hi"), Probe.TOKEN, id="no usage"),
        pytest.param(reply(tool_calls=[{"function": {"name": "f", "arguments": ""}}]), Probe.TOKEN, id="a tool call"),
        pytest.param({"choices": [], "usage": {"completion_tokens": 1}}, Probe.TOKEN, id="usage beside no choice"),
        pytest.param({"choices": []}, Probe.EMPTY, id="no choice, no usage"),
        pytest.param(reply(content="") | {"usage": {"completion_tokens": 0}}, Probe.EMPTY, id="counted zero"),
        pytest.param(reply(content=""), Probe.EMPTY, id="nothing at all"),
        pytest.param({"error": {"message": "engine dead"}}, Probe.ERROR, id="an error inside a 200"),
        pytest.param([1], Probe.ERROR, id="another JSON"),
    ],
)
def test_what_a_200_says(body, expected):
    raw = Exchange(url="http://x", status=200, body=json.dumps(body).encode(), times=(0.1,), ends=(1,), sent_at=0.0)
    assert judge(raw, "m")[0] is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, Probe.CANNOT_ASK), (401, Probe.CANNOT_ASK), (403, Probe.CANNOT_ASK), (404, Probe.CANNOT_ASK),
        (405, Probe.CANNOT_ASK), (422, Probe.CANNOT_ASK), (301, Probe.CANNOT_ASK), (501, Probe.CANNOT_ASK),
        (408, Probe.SILENT), (429, Probe.THROTTLED), (500, Probe.ERROR), (502, Probe.ERROR), (503, Probe.ERROR),
    ],
)  # fmt: skip
@pytest.mark.parametrize("body", [b"", b'{"error":{"message":"no"}}', b"<html>", b"\xff"])
def test_a_status_is_judged_whatever_its_body(status, body, expected):
    raw = Exchange(url="http://x", status=status, body=body, times=(0.1,), ends=(len(body),), sent_at=0.0)
    assert judge(raw, "m")[0] is expected


def test_a_login_page_is_no_reason_to_restart():
    raw = Exchange(url="http://x", status=200, body=b" <!doctype html>", times=(0.1,), ends=(16,), sent_at=0.0)
    assert judge(raw, "m")[0] is Probe.CANNOT_ASK


@pytest.mark.parametrize("fault", list(Fault))
def test_every_fault_has_a_judgement(fault):
    assert judge(Exchange(url="http://x", fault=fault, reason="r"), "m")[0] is not Probe.TOKEN


@given(st.binary(max_size=200), st.integers(100, 599))
def test_no_bytes_and_no_status_make_it_fail(body, status):
    judge(Exchange(url="http://x", status=status, body=body, times=(0.1,), ends=(len(body),), sent_at=0.0), "m")


PINGS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b": ping\n\n" * 50


@pytest.mark.parametrize(
    "handler",
    [saying(hold=True), saying(OK + b"Content-Length: 9\r\n\r\n", hold=True), saying(PINGS, hold=True)],
    ids=["not a byte", "headers alone", "comments for ever"],
)
async def test_only_a_token_is_life_and_the_deadline_is_for_all_of_it(handler):
    async with serving(handler) as url:
        async with asyncio.timeout(3):
            assert (await ask(Endpoint(url, "m"), 0.2))[0] is Probe.SILENT


async def test_a_stream_of_comments_that_never_ends_is_no_life():
    async def pinging(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            writer.write(b": ping\n\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with serving(pinging) as url:
        assert (await ask(Endpoint(url, "m"), 0.2))[0] is Probe.SILENT


async def test_a_server_that_streams_all_the_same_is_understood():
    event = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"length"}]}\n\ndata: [DONE]\n\n'
    async with serving(saying(OK + b"Content-Type: text/event-stream\r\nConnection: close\r\n\r\n" + event)) as url:
        assert (await ask(Endpoint(url, "m"), 2.0))[0] is Probe.TOKEN


async def test_a_key_that_the_server_repeats_is_not_told():
    body = b'{"error":{"message":"bad key sk-very-secret"}}'
    head = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with serving(saying(head + body)) as url:
        probe, detail = await ask(Endpoint(url, "m", "sk-very-secret"), 2.0)
    assert probe is Probe.CANNOT_ASK
    assert "very-secret" not in detail


async def test_nothing_that_listens_and_no_such_name():
    assert (await ask(Endpoint("http://127.0.0.1:9/v1", "m"), 1.0))[0] is Probe.NO_LISTENER
    assert (await ask(Endpoint("http://no-such-name.invalid/v1", "m"), 5.0))[0] is Probe.UNREACHABLE
