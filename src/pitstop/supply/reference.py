"""Image references: `registry:port/repository:tag@digest`. The digest decides, the tag says where it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pitstop.core.errors import UsageError

DOCKER_HUB = "docker.io"
_HUB_NAMES = ("index.docker.io", "registry-1.docker.io", "registry.hub.docker.com", "registry.docker.io")
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?")
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_HINT = "Write it as registry/repository:tag@sha256:… with 64 digits; the registry may be left out for Docker Hub."


@dataclass(frozen=True)
class Reference:
    """A reference with Docker's shorthand written out: `ubuntu` is `docker.io/library/ubuntu`."""

    registry: str
    path: str
    tag: str | None = None
    digest: str | None = None

    @property
    def repository(self) -> str:
        return f"{self.registry}/{self.path}"

    @property
    def by_digest(self) -> str:
        """Without the tag: what tools take that refuse a reference with both."""
        return f"{self.repository}@{self.digest}"

    def pinned(self, digest: str) -> Reference:
        return replace(self, digest=digest)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")


def parse_reference(text: str) -> Reference:
    """Read a reference. UsageError says what is wrong with it."""
    name, at, digest = text.partition("@")
    if at and _DIGEST.fullmatch(digest) is None:
        raise UsageError(f"{text!r} has no valid digest behind its @.", hint=_HINT)
    head, slash, last = name.rpartition("/")
    last, colon, tag = last.partition(":")
    if colon and _TAG.fullmatch(tag) is None:
        raise UsageError(f"{text!r} has no valid tag: {tag!r}.", hint=_HINT)
    registry, path = _split(head + slash + last)
    if _PATH.fullmatch(path) is None or _HOST.fullmatch(registry) is None:
        raise UsageError(f"{text!r} is no image reference.", hint=_HINT)
    return Reference(registry, path, tag or None, digest or None)


def same_repository(one: str, other: str) -> bool:
    """Whether two names mean one repository, whatever shorthand they are written in."""
    try:
        return parse_reference(one).repository == parse_reference(other).repository
    except UsageError:
        return False


def is_loopback(registry: str) -> bool:
    """Whether the registry is on this machine, where Docker too speaks plain HTTP."""
    host = registry.rpartition(":")[0] if re.search(r":\d+$", registry) else registry
    return host == "localhost" or host.startswith("127.") or host in ("[::1]", "::1")


def copy_in(mirror: str, original: Reference) -> Reference:
    """Where a mirror keeps a copy: under the name of the registry that it came from."""
    tag = original.tag or f"{(original.digest or 'latest').partition(':')[2][:12] or 'latest'}"
    return Reference(mirror, f"{original.registry.replace(':', '-').lower()}/{original.path}", tag, original.digest)


def original_of(copy: Reference, mirror: str) -> Reference:
    """The reference that a copy in the mirror came from; itself where it is no copy."""
    first, _, rest = copy.path.partition("/")
    if copy.registry != mirror or not rest or not ("." in first or first.startswith("localhost")):
        return copy
    return replace(copy, registry=re.sub(r"-(\d{1,5})$", r":\1", first), path=rest)


def _split(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        return DOCKER_HUB, name if slash else f"library/{name}"
    registry = DOCKER_HUB if first in (DOCKER_HUB, *_HUB_NAMES) else first
    return registry, f"library/{rest}" if registry == DOCKER_HUB and "/" not in rest else rest
