"""The registry client against registries of every kind, honest or not."""

import asyncio

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.pins import Absent, Manifest, Platform, Unanswered
from pitstop.supply.challenge import Challenge, parse_challenges, parse_token, token_url
from pitstop.supply.manifest import digest_of, read_absence, read_manifest, read_platform
from pitstop.supply.reference import Reference
from pitstop.supply.registry import RegistryClient
from support.fake_registry import FakeRegistry, index, manifest, missing, serving


async def asked(registry, which="v1", *, deadline_s=5.0):
    async with RegistryClient(deadline_s) as client:
        return await client.manifest(Reference(f"127.0.0.1:{registry.port}", "o/r"), which)


async def with_answer(answer, which="v1"):
    registry = FakeRegistry()
    registry.answer = answer
    async with serving(registry):
        return await asked(registry, which), registry


async def test_a_single_manifest_comes_with_the_platform_of_its_config():
    registry = FakeRegistry()
    digest = registry.put("v1", manifest())
    async with serving(registry):
        assert await asked(registry) == Manifest(digest, platform=Platform("linux", "amd64"))


async def test_an_index_comes_with_its_entries_and_all_four_types_are_accepted():
    registry = FakeRegistry()
    digest = registry.put("v1", index(linux_amd64="sha256:" + "1" * 64, linux_arm64="sha256:" + "2" * 64))
    async with serving(registry):
        found = await asked(registry)
    assert found.digest == digest
    assert found.entry_for(Platform("linux", "arm64")).digest == "sha256:" + "2" * 64
    accepted = registry.requests[0].headers["Accept"]
    for kind in ("oci.image.index.v1", "manifest.list.v2", "oci.image.manifest.v1", "distribution.manifest.v2"):
        assert kind in accepted


async def test_without_a_digest_header_the_body_is_hashed():
    registry = FakeRegistry()
    registry.tell_digest = False
    digest = registry.put("v1", manifest())
    async with serving(registry):
        assert (await asked(registry)).digest == digest


async def test_a_registry_that_contradicts_itself_is_not_believed():
    found, _ = await with_answer(
        lambda _: web.Response(body=manifest(), headers={"Docker-Content-Digest": "sha256:" + "0" * 64})
    )
    assert isinstance(found, Unanswered)


async def test_another_digest_than_asked_for_is_not_believed():
    found, _ = await with_answer(lambda _: web.Response(body=manifest()), "sha256:" + "0" * 64)
    assert isinstance(found, Unanswered)


@pytest.mark.parametrize(
    ("answer", "kind", "word"),
    [
        (lambda _: missing(), Absent, "MANIFEST_UNKNOWN"),
        (lambda _: missing("NAME_UNKNOWN", "repository name not known"), Absent, "NAME_UNKNOWN"),
        (
            lambda _: missing(message="OCI index found, but Accept header does not support OCI indexes"),
            Unanswered,
            "not asked for",
        ),
        (lambda _: web.Response(status=404, text="<html>not here</html>", content_type="text/html"), Unanswered, "404"),
        (lambda _: web.Response(status=429, headers={"Retry-After": "60"}), Unanswered, "60 s"),
        (lambda _: web.Response(status=503), Unanswered, "503"),
        (lambda _: web.Response(status=403), Unanswered, "403"),
        (lambda _: web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'}), Unanswered, "password"),
        (lambda _: web.Response(status=401), Unanswered, "password"),
        (lambda _: web.Response(text="<html><form>Log in</form></html>", content_type="text/html"), Unanswered, "page"),
        (lambda _: web.Response(text='{"schemaVersion": 1, "fsLayers": []}'), Unanswered, "schema 1"),
        (lambda _: web.Response(text="{}"), Unanswered, "no manifest"),
        (lambda _: web.Response(body=b"\x00" * (9 << 20)), Unanswered, "more than"),
        (lambda r: web.Response(status=307, headers={"Location": str(r.url)}), Unanswered, "times"),
    ],
)
async def test_whatever_is_answered_has_a_meaning(answer, kind, word):
    found, _ = await with_answer(answer)
    assert isinstance(found, kind)
    assert word in found.reason


async def test_nobody_there_is_unknown_and_so_is_a_registry_that_never_answers():
    registry = FakeRegistry()
    async with serving(registry):
        pass
    assert isinstance(await asked(registry), Unanswered)

    async def never(_reader, writer):
        try:
            await asyncio.sleep(30)
        finally:
            writer.close()

    server = await asyncio.start_server(never, "127.0.0.1", 0)
    registry.port = server.sockets[0].getsockname()[1]
    found = await asked(registry, deadline_s=0.2)
    server.close()
    assert "0.2 s" in found.reason


@pytest.mark.parametrize("field", ["token", "access_token"])
async def test_a_token_is_fetched_as_the_challenge_says_and_used(field):
    registry = FakeRegistry()
    digest = registry.put("v1", manifest())

    def answer(request):
        if request.path == "/proxy_auth":
            assert request.query["service"] == "s"
            assert request.query["scope"] == "repository:o/r:pull"
            assert "Authorization" not in request.headers
            return web.json_response({field: "abc"})
        if request.headers.get("Authorization") != "Bearer abc":
            challenge = 'Bearer realm="/proxy_auth",service="s",scope="repository:o/r:pull"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        return None

    registry.answer = answer
    async with serving(registry):
        assert (await asked(registry)).digest == digest


async def test_a_token_that_does_not_help_is_denied_not_gone():
    def answer(request):
        if request.path == "/token":
            return web.json_response({"token": "abc"})
        return web.Response(status=401, headers={"WWW-Authenticate": 'Bearer realm="/token"'})

    found, registry = await with_answer(answer)
    assert isinstance(found, Unanswered)
    assert found.denied
    assert len(registry.requests) == 3


async def test_the_token_does_not_follow_to_another_host():
    other, registry = FakeRegistry(), FakeRegistry()
    digest = registry.put("v1", manifest())
    other.blobs, other.manifests = registry.blobs, registry.manifests

    def answer(request):
        if request.path == "/token":
            return web.json_response({"token": "secret"})
        if "Authorization" not in request.headers:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Bearer realm="/token"'})
        return web.Response(status=307, headers={"Location": f"http://127.0.0.1:{other.port}{request.path}"})

    registry.answer = answer
    async with serving(registry), serving(other):
        assert (await asked(registry)).digest == digest
    assert other.requests
    assert not any("Authorization" in request.headers for request in other.requests)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (
            'Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:o/r:pull"',
            [Challenge("bearer", "https://ghcr.io/token", "ghcr.io", "repository:o/r:pull")],
        ),
        ("bearer realm=https://a/t , service=b", [Challenge("bearer", "https://a/t", "b", "")]),
        (
            'Basic realm="x, Bearer realm=y", Bearer realm="https://a/t"',
            [Challenge("basic", "x, Bearer realm=y"), Challenge("bearer", "https://a/t")],
        ),
        (
            'Bearer error="invalid_token",scope="repository:a:pull,push",realm="https://a/t"',
            [Challenge("bearer", "https://a/t", "", "repository:a:pull,push")],
        ),
        ("Negotiate", [Challenge("negotiate")]),
        ("", []),
    ],
)
def test_challenges_are_read(header, found):
    assert parse_challenges([header]) == found


def test_a_token_is_never_fetched_over_plain_http_for_https():
    assert token_url(Challenge("bearer", "http://evil/t"), "https://ghcr.io/v2/x", "s") is None
    assert (
        token_url(Challenge("bearer", "/proxy_auth"), "https://nvcr.io/v2/x", "s")
        == "https://nvcr.io/proxy_auth?scope=s"
    )
    assert token_url(Challenge("bearer", "file:///etc/passwd"), "https://x/v2/", "s") is None


@given(st.binary(max_size=300))
def test_no_bytes_break_a_reader(body):
    read_manifest(body)
    read_platform(body)
    read_absence(body, is_registry=True)
    parse_token(body)
    assert digest_of(body).startswith("sha256:")


@given(st.text(max_size=200))
def test_no_header_breaks_the_reader_of_challenges(text):
    for challenge in parse_challenges([text]):
        token_url(challenge, "https://ghcr.io/v2/", "s")


def test_a_token_with_a_line_break_is_no_token():
    assert parse_token(b'{"token": "a\\r\\nX: y"}') is None
