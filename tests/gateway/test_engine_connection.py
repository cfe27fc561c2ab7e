"""The engine's side of the wire: any bytes, cut anywhere, from servers that lie."""

import asyncio
import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.gateway.engine_connection import Broken, EngineConnection


class Wire(asyncio.Transport):
    def __init__(self):
        super().__init__()
        self.closing = False

    def write(self, data):
        if self.closing:
            raise RuntimeError("the handler is closed")  # as uvloop does

    def is_closing(self):
        return self.closing

    def abort(self):
        self.closing = True

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


async def test_a_request_over_a_connection_that_the_engine_has_just_closed_is_broken():
    connection = EngineConnection()
    connection.connection_made(Wire())
    connection.eof_received()
    connection.send(b"")
    with pytest.raises(Broken, match="closed the connection"):
        await connection.head()


def told(chunks, *, eof=True):
    """Status and body as an exchange sees them, or how it broke."""

    async def talk():
        connection = EngineConnection()
        connection.connection_made(Wire())
        connection.send(b"")
        for chunk in chunks:
            connection.data_received(chunk)
        if eof:
            connection.eof_received()
        async with asyncio.timeout(1):
            await connection.head()
            body = b""
            while part := await connection.read():
                body += part
        return connection.status, body, connection.reusable

    try:
        return asyncio.run(talk())
    except Broken as error:
        return str(error)


OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"content-length: 5\r\n\r\nhello"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
UNTIL_CLOSE = OK + b"\r\nhello"
EARLY = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (SIZED, (200, b"hello", False)),
        (CHUNKED, (200, b"hello", False)),
        (UNTIL_CLOSE, (200, b"hello", False)),
        (EARLY + SIZED, (200, b"hello", False)),
        (SIZED + SIZED, (200, b"hello", False)),
        (SIZED + b"garbage", (200, b"hello", False)),
        (OK + b"content-length: 9\r\n\r\nhello", "closed the connection in the middle of its answer"),
        (CHUNKED[:-5], "closed the connection in the middle of its answer"),
        (OK, "closed the connection"),
        (b"", "closed the connection"),
        (b"SSH-2.0\r\n", "answered with something that is no HTTP"),
        (
            b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
            "answered with something that is no HTTP",
        ),
        (OK + b"a: " + b"x" * 70000, "sent a head without end"),
    ],
)
def test_what_a_server_says_however_it_is_cut(said, wanted):
    assert told([said]) == wanted
    if len(said) < 1000:
        assert told([bytes([byte]) for byte in said]) == wanted


def test_a_whole_reply_leaves_the_connection_for_the_next_one():
    assert told([SIZED], eof=False) == (200, b"hello", True)
    assert told([CHUNKED], eof=False) == (200, b"hello", True)
    assert told([OK + b"connection: close\r\ncontent-length: 0\r\n\r\n"], eof=False) == (200, b"", False)


@settings(deadline=None)
@given(
    st.lists(st.binary(max_size=30) | st.sampled_from([OK, SIZED, CHUNKED, EARLY, b"\r\n", b"0\r\n\r\n"]), max_size=8)
)
def test_any_bytes_end_in_an_answer_or_in_words(chunks):
    with contextlib.suppress(TimeoutError):
        result = told(chunks)
        assert isinstance(result, str | tuple)
