"""A registry whose every answer a test writes down."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import asynccontextmanager

from aiohttp import web

from pitstop.supply.manifest import digest_of

INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG = json.dumps({"os": "linux", "architecture": "amd64"}).encode()


def manifest(config: bytes = CONFIG, label: str = "") -> bytes:
    return json.dumps(
        {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": {"digest": digest_of(config)}, "label": label}
    ).encode()


def index(**digests: str) -> bytes:
    """An index: platform `linux_amd64` = digest; attestations come with it."""
    entries = [
        {"digest": digest, "platform": dict(zip(("os", "architecture"), name.split("_"), strict=True))}
        for name, digest in digests.items()
    ]
    entries.append({"digest": digest_of(b"attest"), "platform": {"os": "unknown", "architecture": "unknown"}})
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": entries}).encode()


class FakeRegistry:
    """Manifests by tag and digest, blobs by digest, or whatever `answer` returns for a path."""

    def __init__(self) -> None:
        self.manifests: dict[str, bytes] = {}
        self.blobs: dict[str, bytes] = {digest_of(CONFIG): CONFIG}
        self.tell_digest = True
        self.answer: Callable[[web.Request], web.Response | None] = lambda _request: None
        self.requests: list[web.Request] = []
        self.port = 0

    def put(self, tag: str, body: bytes) -> str:
        digest = digest_of(body)
        self.manifests[tag] = self.manifests[digest] = body
        return digest

    async def _handle(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        if (told := self.answer(request)) is not None:
            return told
        kind, _, which = request.path.rpartition("/")
        found = (self.blobs if kind.endswith("blobs") else self.manifests).get(which)
        if found is None:
            return missing()
        headers = {"Docker-Content-Digest": digest_of(found)} if self.tell_digest and "manifests" in kind else {}
        return web.Response(body=found, headers={**headers, "Content-Type": INDEX_TYPE})


def missing(code: str = "MANIFEST_UNKNOWN", message: str = "manifest unknown") -> web.Response:
    return web.json_response({"errors": [{"code": code, "message": message}]}, status=404)


@asynccontextmanager
async def serving(registry: FakeRegistry):
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", registry._handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    registry.port = runner.addresses[0][1]
    try:
        yield registry
    finally:
        await runner.cleanup()
