import json

import pytest

from pitstop.client.endpoint import Endpoint
from pitstop.client.http import Answer, Lack, NoAnswer, get_json, get_text, parse_json, post_json
from support.paced import PacedServer, Site
from support.raw_server import OK, Handler, saying, serving


async def get(handler: Handler, deadline_s: float = 1.0) -> Answer | NoAnswer:
    async with serving(handler) as base_url:
        return await get_json(Endpoint(base_url, "m", "sk-123"), "/models", deadline_s=deadline_s)


def whole(status: int, body: bytes, headers: str = "") -> Handler:
    return saying(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body)


async def test_json_and_text_are_values_with_their_time() -> None:
    found = await get(whole(200, b'{"a": [1]}'))
    assert isinstance(found, Answer)
    assert (found.value, found.status) == ({"a": [1]}, 200)
    assert 0 < found.elapsed_s < 1


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        (whole(401, b"sk-123 is wrong"), Lack.REFUSED),
        (whole(403, b""), Lack.REFUSED),
        (whole(404, b""), Lack.NOT_FOUND),
        (whole(501, b""), Lack.NOT_FOUND),
        (whole(500, b"no"), Lack.STATUS),
        (whole(302, b"", "Location: /x\r\n"), Lack.STATUS),
        (whole(200, b"<html>"), Lack.NOT_JSON),
        (whole(200, b""), Lack.NOT_JSON),
        (whole(200, b"[" * 100_000), Lack.NOT_JSON),
        (whole(200, b"\xff\xfe"), Lack.NOT_JSON),
        (saying(b"garbage\r\n\r\n"), Lack.BROKEN),
        (saying(OK + b"Content-Length: 9\r\n\r\n{"), Lack.BROKEN),
        (saying(hold=True), Lack.TIMEOUT),
    ],
)
async def test_every_lack_is_named_and_tells_no_secret(handler: Handler, kind: Lack) -> None:
    found = await get(handler, deadline_s=0.2)
    assert isinstance(found, NoAnswer)
    assert found.kind is kind
    assert found.detail
    assert "sk-123" not in found.detail + repr(found.body)


async def test_nobody_there_is_unreachable() -> None:
    found = await get_text(Endpoint("http://127.0.0.1:1/v1", "m"), "/metrics", root=True)
    assert isinstance(found, NoAnswer)
    assert found.kind is Lack.UNREACHABLE


async def test_the_root_lies_beside_v1() -> None:
    with PacedServer(site=Site(version="1.2")) as server:
        endpoint = Endpoint(server.base_url, "paced")
        version = await get_json(endpoint, "/version", root=True)
        metrics = await get_text(endpoint, "/metrics", root=True)
        reply = await post_json(endpoint, "/chat/completions", {"model": "paced", "messages": [], "max_tokens": 1})
    assert isinstance(version, Answer)
    assert version.value == {"version": "1.2"}
    assert isinstance(metrics, Answer)
    assert "vllm:num_requests_running" in metrics.value
    assert isinstance(reply, Answer)
    assert reply.value["usage"]["completion_tokens"] == 1


def test_what_pythons_own_writer_writes_is_json_too() -> None:
    assert parse_json(json.dumps({"a": float("inf"), "b": "\ud83d"})) == {"a": float("inf"), "b": "\ud83d"}
