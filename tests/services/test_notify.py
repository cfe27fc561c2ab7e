import json

import pytest

from pitstop.services.notify import notify
from support.raw_server import OK, serving


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")  # a plug-in of apprise still uses it
async def test_what_is_told_arrives_through_apprise():
    got = []

    async def take(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        got.append(json.loads(await reader.readexactly(length)))
        writer.write(OK + b"Content-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()

    async with serving(take) as url:
        target = url.replace("http://", "json://").removesuffix("/v1")
        assert await notify(["WHERE"], {"WHERE": target}, "title", "body") == ""
    assert (got[0]["title"], got[0]["message"]) == ("title", "body")


@pytest.mark.parametrize("environ", [{}, {"WHERE": ""}])
async def test_a_variable_that_is_not_set_is_named(environ):
    assert await notify(["WHERE"], environ, "t", "b") == "WHERE is not set"


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
async def test_a_url_that_is_none_is_not_repeated_because_it_may_hold_a_password():
    said = await notify(["WHERE"], {"WHERE": "nonsense://secret-password"}, "t", "b")
    assert said
    assert "secret" not in said


async def test_nobody_to_tell_is_no_problem():
    assert await notify([], {}, "t", "b") == ""
