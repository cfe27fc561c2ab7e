"""What runs now, for the ledger: the digests, the version read inside, the patches over it, driver and kernel."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from platform import release

import msgspec

from pitstop.core.config.patch import Patch
from pitstop.core.errors import UsageError
from pitstop.decisions.patching import sha256_of
from pitstop.decisions.pins import Manifest
from pitstop.launch.container import Container
from pitstop.launch.containers import engine_of, image_digest
from pitstop.launch.launcher import Launcher, LaunchSpec
from pitstop.ledger.records import PinRecord
from pitstop.supply.patch_mounts import source_over
from pitstop.supply.pins import Supply
from pitstop.supply.reference import parse_reference

_DRIVER = Path("/proc/driver/nvidia/version")


async def locked(
    launcher: Launcher | None, spec: LaunchSpec | None, patches: Mapping[str, Patch], supply: Supply, now: datetime
) -> PinRecord | None:
    """The record of a running engine; None when it is not up, UsageError when it runs in no container."""
    if launcher is None or spec is None:
        return None
    if await launcher.inspect(spec) is None:
        return None
    found = await launcher.container(spec)
    if found is None:
        raise UsageError(f"engine {spec.engine} runs in no container, so there is no image to record.")
    image = spec.image or str(found.config.get("Image") or found.image)
    return PinRecord(
        engine=spec.engine,
        at=now.astimezone(UTC).isoformat(),
        image=image,
        digest=await image_digest(engine_of(spec), msgspec.structs.replace(spec, image=image), found),
        action="lock",
        platform_digest=await _platform_digest(supply, spec.engine, image),
        engine_version=await launcher.version(spec),
        patches=tuple(applied(patches, found)),
        driver=driver_version(),
        kernel=release(),
    )


def applied(patches: Mapping[str, Patch], container: Container) -> list[str]:
    """The patches over whose file something is mounted, each as `name sha256:…` of what is mounted."""
    sources = {name: source for name, patch in patches.items() if (source := source_over(container, patch.file))}
    return [f"{name} {_hash(Path(source))}" for name, source in sources.items()]


def _hash(path: Path) -> str:
    try:
        return f"sha256:{sha256_of(path.read_bytes())}"
    except OSError:
        return "unreadable"


def driver_version(path: Path = _DRIVER) -> str | None:
    """The GPU driver's version as its kernel module tells it; None without one."""
    try:
        line = path.read_text("utf-8", "replace").partition("\n")[0]
    except OSError:
        return None
    return next((word for word in line.split() if word[:1].isdigit() and "." in word), None)


async def _platform_digest(supply: Supply, engine: str, image: str) -> str | None:
    """The entry for this platform in the pinned index, if a registry can be asked."""
    reference = parse_reference(image)
    if reference.digest is None:
        return None
    async with supply.client() as client:
        answer = await supply.ask(client, supply.upstream(engine, reference), reference.digest)
    if not isinstance(answer, Manifest):
        return None
    entry = answer.entry_for(supply.platform)
    return entry.digest if entry else None if answer.entries else answer.digest
