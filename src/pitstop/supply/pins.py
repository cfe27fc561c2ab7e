"""Pins against the world: is the tag still what is pinned, what is it now, and copies that outlive a registry."""

from __future__ import annotations

import asyncio
import platform as machine
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pitstop.core.config.engine import DockerLaunch, Engine
from pitstop.core.config.pins import Pins
from pitstop.core.errors import ConfigError, Unreachable, UsageError
from pitstop.decisions.pins import (
    Absent,
    Answer,
    Judgement,
    Manifest,
    PinStatus,
    Platform,
    Unanswered,
    judge,
    judge_local,
)
from pitstop.launch.command import CommandFailed
from pitstop.launch.container_engine import ContainerEngine
from pitstop.supply import skopeo
from pitstop.supply.pin_file import image_of
from pitstop.supply.reference import Reference, copy_in, original_of, parse_reference, same_repository
from pitstop.supply.registry import RegistryClient

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


class PinReport(msgspec.Struct, frozen=True, kw_only=True):
    """One engine's pin, as in the document of `pins check`."""

    engine: str
    image: str
    tag: str | None
    status: str
    upstream_digest: str | None
    reason: str


@dataclass(frozen=True)
class Supply:
    """How registries are asked: the configuration's `[pins]`, and the environment for skopeo and docker."""

    pins: Pins
    environ: Mapping[str, str]

    @property
    def platform(self) -> Platform:
        """The platform that images are wanted for."""
        if not self.pins.platform:
            return Platform("linux", _ARCHITECTURES.get(machine.machine(), machine.machine()))
        parts = self.pins.platform.split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise ConfigError(f"`pins.platform`: {self.pins.platform!r} is no platform such as linux/arm64.")
        return Platform(*parts)

    async def ask(self, client: RegistryClient, reference: Reference, which: str) -> Answer:
        """Ask anonymously, and through skopeo where a password or a SOCKS proxy is needed and skopeo is there."""
        if skopeo.wants_socks(self.environ):
            without = Unanswered("the way out is a SOCKS proxy, which needs skopeo, and that is not installed")
            return await self._through_skopeo(reference, which, without)
        answer = await client.manifest(reference, which)
        if isinstance(answer, Unanswered) and answer.denied:
            return await self._through_skopeo(reference, which, answer)
        return answer

    async def _through_skopeo(self, reference: Reference, which: str, instead: Unanswered) -> Answer:
        if not skopeo.installed(self.environ):
            return instead
        deadline_s, plain = float(self.pins.deadline), self.pins.plain_http
        return await skopeo.ask(reference, which, environ=self.environ, deadline_s=deadline_s, plain_http=plain)

    def client(self) -> RegistryClient:
        return RegistryClient(float(self.pins.deadline), self.pins.plain_http)

    def upstream(self, engine: str, reference: Reference) -> Reference:
        """Whom to ask about the tag: for a copy in the mirror, the registry that it came from."""
        if named := self.pins.upstream.get(engine):
            other = parse_reference(named)
            return Reference(other.registry, other.path, other.tag or reference.tag, reference.digest)
        return original_of(reference, self.pins.mirror)


async def check(engines: Mapping[str, Engine], supply: Supply) -> list[PinReport]:
    """Look at the pin of every engine with an image, all at once; changes nothing."""
    with_image = [(name, engine, image) for name, engine in engines.items() if (image := image_of(engine)) is not None]
    async with supply.client() as client:
        return await asyncio.gather(*(_check(client, supply, *one) for one in with_image))


async def resolve(supply: Supply, reference: Reference, *, engine: str) -> tuple[Reference, Manifest]:
    """The reference with the digest that it means now; UsageError when it means nothing, Unreachable when unknown."""
    asked = supply.upstream(engine, reference)
    which = reference.digest or reference.tag or "latest"
    async with supply.client() as client:
        answer = await supply.ask(client, asked, which)
    match answer:
        case Unanswered():
            raise Unreachable(f"{asked} could not be looked up: {answer.reason}.", hint="Nothing was changed.")
        case Absent():
            raise UsageError(f"there is no {asked} ({answer.reason}).", hint="Check repository and tag.")
        case Manifest():
            if answer.refuses(supply.platform):
                raise UsageError(f"{asked} is for {answer.offers}, and this is {supply.platform}.")
            tagged = reference.tag or (None if reference.digest else "latest")
            return Reference(reference.registry, reference.path, tagged, answer.digest), answer


async def mirror(supply: Supply, engine: str, reference: Reference) -> tuple[Reference, Manifest]:
    """Copy a pinned image into the local registry, and prove that it is there under the same digest."""
    if not supply.pins.mirror:
        raise UsageError("There is no local registry to copy into.", hint='Name it: [pins] mirror = "127.0.0.1:5000".')
    if reference.digest is None:
        hint = f"First: pitstop pins set {engine} {reference}."
        raise UsageError(f"engine {engine} is not pinned to a digest.", hint=hint)
    source = supply.upstream(engine, reference)
    target = copy_in(supply.pins.mirror, source)
    present = await _in_registry(supply, target)
    if not isinstance(present, Manifest):
        await skopeo.copy(source, target, environ=supply.environ, plain_http=supply.pins.plain_http)
        present = await _in_registry(supply, target)
    if not isinstance(present, Manifest):
        raise Unreachable(f"{target} was copied, and the mirror does not have it: {present.reason}.")
    return target, present


async def _in_registry(supply: Supply, reference: Reference) -> Answer:
    assert reference.digest is not None
    async with supply.client() as client:
        return await client.manifest(reference, reference.digest, with_platform=False)


async def at_hand(supply: Supply, engine: Engine, reference: Reference) -> str:
    """Where a pinned image can be had without a network: `here`, `mirror`, or an empty string."""
    assert isinstance(engine.launch, DockerLaunch)
    container_engine = ContainerEngine(engine.launch.binary, supply.environ)
    try:
        if await container_engine.image(str(reference)) is not None:
            return "here"
    except CommandFailed:
        pass
    if supply.pins.mirror and reference.digest:
        copied = reference if reference.registry == supply.pins.mirror else copy_in(supply.pins.mirror, reference)
        if isinstance(await _in_registry(supply, copied), Manifest):
            return "mirror"
    return ""


async def _check(client: RegistryClient, supply: Supply, name: str, engine: Engine, image: str) -> PinReport:
    tag = None
    try:
        reference = parse_reference(image)
        tag = reference.tag
        judged = await _judged(client, supply, name, engine, reference)
    except UsageError as error:
        judged = Judgement(PinStatus.UNVERIFIABLE, error.message)
    return PinReport(
        engine=name, image=image, tag=tag, status=judged.status.value,
        upstream_digest=judged.upstream_digest, reason=judged.reason,
    )  # fmt: skip


async def _judged(client: RegistryClient, supply: Supply, name: str, engine: Engine, reference: Reference) -> Judgement:
    asked = supply.upstream(name, reference)
    if reference.digest is None:
        return await _unpinned(client, supply, engine, reference, asked)
    by_tag = await supply.ask(client, asked, asked.tag) if asked.tag else None
    settled = isinstance(by_tag, Unanswered) or (isinstance(by_tag, Manifest) and by_tag.digest == reference.digest)
    by_digest = None if settled else await supply.ask(client, asked, reference.digest)
    return judge(reference.digest, asked.tag, by_tag, by_digest, supply.platform)


async def _unpinned(
    client: RegistryClient, supply: Supply, engine: Engine, reference: Reference, asked: Reference
) -> Judgement:
    assert isinstance(engine.launch, DockerLaunch)
    try:
        local = await ContainerEngine(engine.launch.binary, supply.environ).image(engine.launch.image)
    except CommandFailed as failed:
        return Judgement(PinStatus.UNVERIFIABLE, f"not pinned, and {failed.message}")
    if local is None:
        return Judgement(PinStatus.UNVERIFIABLE, "not pinned to a digest, and not on this machine")
    digests = digests_of(local[1], reference)
    if not digests:
        return Judgement(PinStatus.UNVERIFIABLE, "a local build, or loaded from a file: no registry can confirm it")
    return judge_local(digests, await supply.ask(client, asked, asked.tag or "latest"), supply.platform)


def digests_of(repo_digests: Sequence[str] | None, reference: Reference) -> list[str]:
    """The digests under which this machine knows an image, of the reference's own repository, each once."""
    parts = [one.partition("@") for one in repo_digests or ()]
    found = [digest for name, _, digest in parts if digest and same_repository(name, reference.repository)]
    return list(dict.fromkeys(found))
