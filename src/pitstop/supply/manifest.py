"""What registries answer, read: indexes, manifests, configs, errors. Pure; nothing here raises on any bytes."""

from __future__ import annotations

import hashlib

import msgspec

from pitstop.decisions.pins import Absent, Answer, Entry, Manifest, Platform, Unanswered

ACCEPT = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_ABSENT = ("MANIFEST_UNKNOWN", "NAME_UNKNOWN", "NOT_FOUND", "TAG_UNKNOWN", "REPOSITORY_NOT_FOUND", "BLOB_UNKNOWN")


class _Platform(msgspec.Struct):
    os: str = ""
    architecture: str = ""
    variant: str | None = None

    def value(self) -> Platform | None:
        known = self.os not in ("", "unknown") and self.architecture not in ("", "unknown")
        return Platform(self.os, self.architecture, self.variant or "") if known else None


class _Descriptor(msgspec.Struct):
    digest: str
    platform: _Platform | None = None


class _Body(msgspec.Struct):
    schema_version: int = msgspec.field(name="schemaVersion", default=0)
    manifests: list[_Descriptor] | None = None
    config: _Descriptor | None = None


class _Error(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Errors(msgspec.Struct):
    errors: list[_Error] = []


def digest_of(body: bytes) -> str:
    """The digest that a registry names a manifest by: of its exact bytes."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def read_manifest(body: bytes, told_digest: str | None = None) -> tuple[Answer, str | None]:
    """A manifest with its digest, and the digest of its config if it is no index."""
    try:
        found = msgspec.json.decode(body, type=_Body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Unanswered("the answer is no manifest: a login page, or a proxy's?"), None
    if found.schema_version == 1:
        return Unanswered("the registry only offers a manifest of schema 1, whose digest cannot be compared"), None
    if found.schema_version != 2 or (found.manifests is None and found.config is None):
        return Unanswered("the answer is JSON, but no manifest"), None
    digest = digest_of(body)
    if told_digest and told_digest.startswith("sha256:") and told_digest != digest:
        return Unanswered(f"the registry contradicts itself: it says {told_digest} and sends {digest}"), None
    if found.manifests is None:
        return Manifest(digest), found.config.digest if found.config else None
    entries = [(one.digest, one.platform.value() if one.platform else None) for one in found.manifests]
    return Manifest(digest, tuple(Entry(name, platform) for name, platform in entries)), None


def read_platform(body: bytes) -> Platform | None:
    """The platform that an image's config names."""
    try:
        return msgspec.json.decode(body, type=_Platform).value()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def read_absence(body: bytes, *, is_registry: bool) -> Absent | Unanswered:
    """What a 404 means: only a registry that says so itself says that something is gone."""
    try:
        errors = msgspec.json.decode(body, type=_Errors).errors
    except (msgspec.MsgspecError, UnicodeDecodeError):
        errors = []
    said = "; ".join(f"{one.code} {one.message}".strip() for one in errors)[:200]
    if "accept header" in said.lower():
        return Unanswered(f"the registry has it in a form that was not asked for: {said}")
    if any(one.code in _ABSENT for one in errors) or (is_registry and not errors):
        return Absent(said or "404")
    return Unanswered(f"a 404 that is not a registry's{f': {said}' if said else ''}")
