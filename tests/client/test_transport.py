"""Every way in which the other side can misbehave ends as an exchange with a reason, never as a traceback."""

import asyncio
import itertools
import ssl
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.client import transport
from pitstop.client.endpoint import Endpoint
from pitstop.client.exchange import Exchange, Fault
from pitstop.client.receiver import Receiver
from pitstop.client.target import parse_target
from pitstop.client.transport import Connection, exchange, open_connection
from pitstop.core.errors import UsageError
from support.raw_server import OK, Handler, saying, serving


async def ask(handler: Handler, payload: bytes | None = b"{}", **options: float) -> Exchange:
    async with serving(handler) as base_url:
        limits = {"deadline_s": 2.0, **options}
        return await exchange(Endpoint(base_url, "m", "key"), "/x", payload, **limits)  # type: ignore[arg-type]


async def test_a_reply_with_a_length() -> None:
    raw = await ask(saying(OK + b"Content-Length: 5\r\nX-A: b\r\n\r\n", b"hel", b"lo"))
    assert (raw.complete, raw.status, raw.body, raw.header("x-a")) == (True, 200, b"hello", "b")
    assert b"".join(data for _, data in raw.chunks) == b"hello"
    assert raw.sent_at is not None
    assert raw.headers_at is not None
    assert raw.finished_at is not None
    assert raw.connected_at is not None
    assert raw.connected_at <= raw.sent_at <= raw.headers_at <= raw.times[0] <= raw.finished_at


async def test_a_connection_that_is_closed_before_the_request_is_sent() -> None:
    """With many streams the first is open for a while before all are, and a full server does not wait for that."""
    closed = asyncio.Event()

    async def closes(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()
        closed.set()

    async with serving(closes) as base_url:
        opened = await open_connection(Endpoint(base_url, "m"), "/x")
        assert isinstance(opened, Connection)
        await closed.wait()
        for _ in range(1000):
            if opened.transport.is_closing():
                break
            await asyncio.sleep(0.01)
        raw = await opened.request(b"{}", deadline_s=30.0)
    assert not raw.complete
    assert raw.fault is Fault.TRUNCATED


async def test_a_chunked_reply_with_a_trailer() -> None:
    body = b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX-T: 1\r\n\r\n"
    raw = await ask(saying(OK + body, hold=True))
    assert (raw.complete, raw.body) == (True, b"hello")


async def test_a_reply_that_ends_with_the_connection() -> None:
    raw = await ask(saying(OK + b"\r\nhel", b"lo"))
    assert (raw.complete, raw.body) == (True, b"hello")


async def test_a_reply_without_a_body() -> None:
    assert (await ask(saying(b"HTTP/1.1 204 No Content\r\n\r\n", hold=True))).complete


async def test_interim_replies_are_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    raw = await ask(saying(interim + OK + b"Content-Length: 2\r\n\r\nok", hold=True))
    assert (raw.status, raw.body, raw.header("link")) == (200, b"ok", None)


async def test_done_ends_a_stream_that_the_server_keeps_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pitstop.client.receiver.LINGER_S", 0.02)
    raw = await ask(saying(OK + b"Transfer-Encoding: chunked\r\n\r\ne\r\ndata: [DONE]\n\n\r\n", hold=True))
    assert (raw.fault, raw.body) == (Fault.TRUNCATED, b"data: [DONE]\n\n")


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BROKEN: list[tuple[Handler, Fault, str]] = [
    (saying(OK + b"Content-Length: 50\r\n\r\nhello"), Fault.TRUNCATED, "after 5 bytes"),
    (saying(CHUNKED + b"5\r\nhello\r\n"), Fault.TRUNCATED, "after 5 bytes"),
    (saying(CHUNKED + b"ff\r\nhello"), Fault.TRUNCATED, "after 5 bytes"),
    (saying(b""), Fault.TRUNCATED, "before it answered"),
    (saying(b"HTTP/1.1 200 O"), Fault.TRUNCATED, "before it answered"),
    (saying(b"SSH-2.0-OpenSSH_9.2\r\n"), Fault.NOT_HTTP, "no HTTP server"),
    (saying(b"\x15\x03\x01\x00\x02\x02\x46"), Fault.NOT_HTTP, "no HTTP server"),
    (saying(b"\x00" * 100), Fault.NOT_HTTP, "no HTTP server"),
    (saying(b"HTTP/1.1 abc OK\r\n\r\n"), Fault.NOT_HTTP, "no HTTP server"),
    (saying(b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n"), Fault.NOT_HTTP, ""),
    (saying(CHUNKED + b"zz\r\nhello\r\n"), Fault.NOT_HTTP, "rules of HTTP"),
    (saying(CHUNKED + b"-5\r\nhello\r\n"), Fault.NOT_HTTP, "rules of HTTP"),
    (saying(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"), Fault.NOT_HTTP, ""),
    (saying(OK + b"Content-Length: x\r\n\r\n"), Fault.NOT_HTTP, ""),
    (saying(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nx"), Fault.NOT_HTTP, ""),
    (saying(OK + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08"), Fault.ENCODED, "gzip"),
    (saying(OK + b"Content-Encoding: br\r\n\r\n"), Fault.ENCODED, "br"),
    (saying(*[OK] + [b"X-Pad: " + b"y" * 1000 + b"\r\n"] * 100, hold=True), Fault.HEADERS_TOO_LONG, "headers"),
    (saying(OK + b"X: " + b"y" * 100_000, hold=True), Fault.HEADERS_TOO_LONG, "headers"),
    (saying(*[b"HTTP/1.1 100 Continue\r\n\r\n" * 100] * 100, hold=True), Fault.DEADLINE, ""),
]  # fmt: skip


@pytest.mark.parametrize(("handler", "fault", "words"), BROKEN)
async def test_what_breaks_the_rules_has_a_reason(handler: Handler, fault: Fault, words: str) -> None:
    raw = await ask(handler, deadline_s=0.5)
    assert (raw.fault, raw.complete) == (fault, False)
    assert words in raw.reason
    assert raw.reason


async def test_a_reset_is_told_with_what_came_before_it() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(CHUNKED + b"5\r\nhello\r\n")(reader, writer)
        await asyncio.sleep(0.01)  # so that the client has it before the reset, which would discard it
        writer.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER 0: close means reset
        writer.transport.abort()

    raw = await ask(handler)
    assert (raw.fault, raw.body) == (Fault.RESET, b"hello")


async def test_silence_ends_at_the_deadline() -> None:
    raw = await ask(saying(hold=True), deadline_s=0.05)
    assert raw.fault is Fault.DEADLINE
    assert raw.finished_at is not None
    assert raw.sent_at is not None


async def test_a_stream_of_comments_does_not_move_the_deadline() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(CHUNKED)(reader, writer)
        for _ in range(1000):
            writer.write(b"8\r\n: ping\n\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.005)

    raw = await ask(handler, deadline_s=0.1)
    assert raw.fault is Fault.DEADLINE
    assert raw.body.startswith(b": ping")


async def test_an_endless_body_is_bounded() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(OK + b"\r\n")(reader, writer)
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    raw = await ask(handler, max_body_bytes=1_000_000)
    assert raw.fault is Fault.BODY_TOO_LONG
    assert len(raw.body) < 2_000_000


async def test_what_comes_after_a_body_was_too_long_is_not_kept() -> None:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    receiver = Receiver(done, max_body_bytes=1000)
    receiver.data_received(OK + b"\r\n")
    for _ in range(40):  # libuv reads up to 32 times before anybody else has a say
        receiver.data_received(b"x" * 600)
    raw = receiver.exchange("http://h/x")
    assert raw.fault is Fault.BODY_TOO_LONG
    assert len(raw.body) == 1200


async def test_a_redirect_is_not_followed() -> None:
    raw = await ask(saying(b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"))
    assert (raw.status, raw.header("location")) == (307, "http://127.0.0.1:1/")


async def test_nobody_there_is_a_refused_connection() -> None:
    async with serving(saying()) as base_url:
        pass
    raw = await exchange(Endpoint(base_url, "m"), "/x", deadline_s=2.0)
    assert raw.fault is Fault.CONNECT
    assert "connection refused" in raw.reason


async def test_a_connection_that_does_not_open_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", never)
    raw = await exchange(Endpoint("http://127.0.0.1:1/v1", "m"), "/x", deadline_s=2.0, connect_s=0.01)
    assert raw.fault is Fault.CONNECT_TIMEOUT


async def test_tls_against_a_plain_server_is_a_tls_fault() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(handler) as base_url:
        raw = await exchange(Endpoint(base_url.replace("http:", "https:"), "m"), "/x", deadline_s=2.0)
    assert raw.fault is Fault.TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
               "-keyout", str(folder / "key"), "-out", str(folder / "cert")]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=20)
    return folder


async def test_tls_is_spoken_and_an_unknown_certificate_refused(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate / "cert", certificate / "key")
    trusting = ssl.create_default_context(cafile=str(certificate / "cert"))
    async with serving(saying(OK + b"Content-Length: 2\r\n\r\nok"), context) as base_url:
        refused = await exchange(Endpoint(base_url, "m"), "/x", deadline_s=5.0)
        monkeypatch.setattr(transport, "_tls_context", lambda: trusting)
        taken = await exchange(Endpoint(base_url, "m"), "/x", deadline_s=5.0)
    assert (refused.fault, "certificate" in refused.reason) == (Fault.TLS, True)
    assert (taken.fault, taken.body) == (None, b"ok")


async def test_the_request_is_what_was_asked_for() -> None:
    seen: list[bytes] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head + await reader.readexactly(2))
        writer.write(OK + b"Content-Length: 0\r\n\r\n")

    await ask(handler)
    lines = seen[0].split(b"\r\n")
    assert lines[0] == b"POST /v1/x HTTP/1.1"
    assert {b"Authorization: Bearer key", b"Accept-Encoding: identity", b"Content-Length: 2"} <= set(lines)
    assert lines[-1] == b"{}"


async def test_a_cancelled_exchange_closes_its_connection() -> None:
    gone = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await saying(CHUNKED + b"5\r\nhello\r\n", hold=True)(reader, writer)
        finally:
            gone.set()

    async with serving(handler) as base_url:
        task = asyncio.create_task(exchange(Endpoint(base_url, "m"), "/x", b"{}", deadline_s=60.0))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(gone.wait(), 2)


# -- what cannot be sent


@pytest.mark.parametrize(
    "url",
    ["ftp://x/v1", "127.0.0.1:8000/v1", "http://", "http://x:port/v1", "http://x:99999/v1", "http://x/v1?a=b",
     "http://x/v1#a", "http://x y/v1", "http://x/v1\r\nHost: y", "http://[::1/v1", "", "http://u:secret@x/v1"],
)  # fmt: skip
def test_a_url_that_cannot_be_asked_is_a_usage_error_without_secrets(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "a b", "a\n", "a\r\nX: y", "schlüssel", "\x00"])
async def test_a_key_that_cannot_stand_in_a_header_is_not_shown(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        await exchange(Endpoint("http://127.0.0.1:1/v1", "m", key), "/x", deadline_s=1.0)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "authority", "host", "port"),
    [
        ("http://127.0.0.1:8001/v1", "127.0.0.1:8001", "127.0.0.1", 8001),
        ("https://spark.local/v1/", "spark.local", "spark.local", 443),
        ("http://[::1]:80/v1", "[::1]:80", "::1", 80),
        ("http://münchen.example/v1", "xn--mnchen-3ya.example", "xn--mnchen-3ya.example", 80),
    ],
)
def test_a_url_is_taken_apart(url: str, authority: str, host: str, port: int) -> None:
    target = parse_target(url, "/models?a=b")
    assert (target.authority, target.host, target.port, target.path) == (authority, host, port, "/v1/models?a=b")


@settings(max_examples=200)
@given(st.text(max_size=40))
def test_any_text_is_a_target_or_a_usage_error(text: str) -> None:
    try:
        target = parse_target(text)
    except UsageError:
        return
    assert not set(target.path) & set("\r\n ")
    assert (target.authority + target.path).isascii()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=8),
    st.lists(st.integers(1, 30), min_size=1, max_size=40),
    st.sampled_from(["chunked", "trailer", "length", "close", "interim"]),
)
def test_however_the_network_cuts_a_reply_the_body_is_the_same(
    parts: list[bytes], cuts: list[int], framing: str
) -> None:
    """Straight into the receiver: every cut is one read, and the end must be noticed with the last of them."""
    body = b"".join(parts)
    coded = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    replies = {
        "chunked": CHUNKED + coded + b"0\r\n\r\n",
        "trailer": CHUNKED + coded + b"0\r\nX-T: 1\r\n\r\n",
        "length": OK + b"Content-Length: %d\r\n\r\n" % len(body) + body,
        "close": OK + b"\r\n" + body,
        "interim": b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED + coded + b"0\r\n\r\n",
    }
    wire, loop = replies[framing], asyncio.new_event_loop()
    receiver = Receiver(loop.create_future(), 1_000_000)
    start = 0
    for width in itertools.cycle(cuts):
        if start >= len(wire):
            break
        receiver.data_received(wire[start : start + width])
        start += width
    if framing == "close":
        receiver.eof_received()
    assert receiver.done.done()
    raw = receiver.exchange("")
    assert (raw.fault, raw.body) == (None, body)
    assert list(raw.times) == sorted(raw.times)
    loop.close()
