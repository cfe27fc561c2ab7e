"""Ask a registry about a tag or digest over HTTP, anonymously. Everything that can go wrong is an answer.

Proxies come from the environment; passwords and SOCKS are skopeo's business (`supply.skopeo`, ADR 0090).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from types import TracebackType
from urllib.parse import quote, urljoin, urlsplit

import aiohttp

from pitstop.decisions.pins import Answer, Manifest, Unanswered
from pitstop.supply.challenge import parse_challenges, parse_token, token_url
from pitstop.supply.manifest import ACCEPT, read_absence, read_manifest, read_platform
from pitstop.supply.reference import DOCKER_HUB, Reference, is_loopback

_MAX_BYTES = 8 * 2**20  # a manifest may have 4 MiB
_MAX_REDIRECTS = 5
_HUB_HOST = "registry-1.docker.io"  # where Docker Hub's registry really is
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class _Reply:
    status: int
    body: bytes
    headers: dict[str, str]
    challenges: tuple[str, ...] = ()

    @property
    def is_registry(self) -> bool:
        return self.headers.get("docker-distribution-api-version", "").startswith("registry/")


class RegistryClient:
    """One session for many questions: `async with RegistryClient(...) as registry`."""

    def __init__(self, deadline_s: float, plain_http: tuple[str, ...] = ()) -> None:
        self._deadline_s, self._plain_http = deadline_s, plain_http
        self._session: aiohttp.ClientSession | None = None
        self._direct: aiohttp.ClientSession | None = None
        self._tokens: dict[tuple[str, str], str] = {}

    async def __aenter__(self) -> RegistryClient:
        timeout = aiohttp.ClientTimeout(total=self._deadline_s)
        self._session = aiohttp.ClientSession(timeout=timeout, trust_env=True)
        self._direct = aiohttp.ClientSession(timeout=timeout)  # this machine's registries lie behind no proxy
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for session in (self._session, self._direct):
            if session is not None:
                await session.close()

    async def manifest(self, reference: Reference, which: str, *, with_platform: bool = True) -> Answer:
        """What `which`, a tag or a digest, is in the reference's repository; of a single manifest with its platform."""
        base = self._base(reference.registry)
        asked = await self._get(f"{base}/v2/{reference.path}/manifests/{quote(which, safe=':')}", reference)
        if isinstance(asked, Unanswered):
            return asked
        answer, config = self._read(asked, which)
        if isinstance(answer, Manifest) and config and with_platform:
            blob = await self._get(f"{base}/v2/{reference.path}/blobs/{quote(config, safe=':')}", reference)
            if not isinstance(blob, Unanswered) and blob.status == 200:
                return replace(answer, platform=read_platform(blob.body))
        return answer

    def _base(self, registry: str) -> str:
        scheme = "http" if is_loopback(registry) or registry in self._plain_http else "https"
        return f"{scheme}://{_HUB_HOST if registry == DOCKER_HUB else registry}"

    def _read(self, reply: _Reply, which: str) -> tuple[Answer, str | None]:
        if reply.status == 404:
            return read_absence(reply.body, is_registry=reply.is_registry), None
        if reply.status != 200:
            return _refusal(reply), None
        answer, config = read_manifest(reply.body, reply.headers.get("docker-content-digest"))
        if isinstance(answer, Manifest) and which.startswith("sha256:") and answer.digest != which:
            return Unanswered(f"the registry was asked for {which} and sent {answer.digest}"), None
        return answer, config

    async def _get(self, url: str, reference: Reference) -> _Reply | Unanswered:
        """GET with whatever token the registry wants, fetched once per repository."""
        key = (reference.registry, reference.path)
        reply = await self._follow(url, self._tokens.get(key))
        if isinstance(reply, Unanswered) or reply.status != 401:
            return reply
        token = await self._token(reply, url, f"repository:{reference.path}:pull")
        if isinstance(token, Unanswered):
            return token
        self._tokens[key] = token
        return await self._follow(url, token)

    async def _token(self, reply: _Reply, url: str, scope: str) -> str | Unanswered:
        challenges = parse_challenges(list(reply.challenges))
        bearer = next((one for one in challenges if one.scheme == "bearer"), None)
        if bearer is None:
            return Unanswered("the registry wants a password", denied=True)
        where = token_url(bearer, url, scope)
        if where is None:
            return Unanswered("the registry names no usable address for a token")
        answer = await self._follow(where, None)
        if isinstance(answer, Unanswered):
            return Unanswered(f"the registry's token service: {answer.reason}")
        if answer.status != 200:
            return _refusal(answer)
        return parse_token(answer.body) or Unanswered("the registry's token service sent no token")

    async def _follow(self, url: str, token: str | None) -> _Reply | Unanswered:
        """One GET with its redirects; the token goes to nobody but the host that it is for."""
        for _ in range(_MAX_REDIRECTS):
            reply = await self._once(url, token)
            if isinstance(reply, Unanswered) or reply.status not in _REDIRECTS:
                return reply
            target = urljoin(url, reply.headers.get("location", ""))
            if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
                return Unanswered("the registry redirects from https to http, which is not followed")
            token = token if _origin(url) == _origin(target) else None
            url = target
        return Unanswered(f"the registry redirects more than {_MAX_REDIRECTS} times")

    async def _once(self, url: str, token: str | None) -> _Reply | Unanswered:
        session = self._direct if is_loopback(urlsplit(url).netloc) else self._session
        assert session is not None
        headers = {"Accept": ", ".join(ACCEPT) if "/manifests/" in url else "*/*", "User-Agent": "pitstop"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            async with session.get(url, headers=headers, allow_redirects=False) as response:
                body = await _bounded(response)
        except TimeoutError:
            return Unanswered(f"{_host(url)} did not answer within {self._deadline_s:g} s")
        except (aiohttp.ClientError, asyncio.IncompleteReadError, OSError, ValueError) as error:
            return Unanswered(f"{_host(url)} cannot be reached: {str(error) or type(error).__name__}"[:300])
        if body is None:
            return Unanswered(f"{_host(url)} sent more than {_MAX_BYTES >> 20} MiB, which no manifest has")
        kept = {name.lower(): value for name, value in response.headers.items()}
        return _Reply(response.status, body, kept, tuple(response.headers.getall("WWW-Authenticate", [])))


async def _bounded(response: aiohttp.ClientResponse) -> bytes | None:
    parts, size = [], 0
    async for chunk in response.content.iter_chunked(65536):
        parts.append(chunk)
        size += len(chunk)
        if size > _MAX_BYTES:
            return None
    return b"".join(parts)


def _refusal(reply: _Reply) -> Unanswered:
    match reply.status:
        case 429:
            after = reply.headers.get("retry-after", "")
            again = f"; again after {after} s" if after.isdigit() else ""
            return Unanswered(f"the registry's rate limit is reached (429){again}")
        case 401 | 403:
            return Unanswered(f"the registry denies it ({reply.status}): no right, or no such repository", denied=True)
        case status if status >= 500:
            return Unanswered(f"the registry is out of order ({status})")
    return Unanswered(f"an answer that no registry gives ({reply.status})")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]
