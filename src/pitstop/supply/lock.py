"""What runs now, for the ledger: the digests, the version read inside, the patches over it, driver and kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from platform import release

from pitstop.core.config.patch import Patch
from pitstop.decisions.pins import Manifest
from pitstop.launch.launcher import Launcher, LaunchSpec
from pitstop.ledger.records import PinRecord
from pitstop.supply.pins import Supply
from pitstop.supply.reference import parse_reference

_DRIVER = Path("/proc/driver/nvidia/version")


async def locked(
    launcher: Launcher | None, spec: LaunchSpec | None, patches: Mapping[str, Patch], supply: Supply, now: datetime
) -> PinRecord | None:
    """The record of a running engine; None when it is not up."""
    if launcher is None or spec is None:
        return None
    running = await launcher.inspect(spec)
    if running is None:
        return None
    return PinRecord(
        engine=spec.engine,
        at=now.astimezone(UTC).isoformat(),
        image=spec.image,
        digest=running.image_digest or "",
        action="lock",
        platform_digest=await _platform_digest(supply, spec),
        engine_version=await launcher.version(spec),
        patches=tuple(applied(patches, spec)),
        driver=driver_version(),
        kernel=release(),
    )


def applied(patches: Mapping[str, Patch], spec: LaunchSpec) -> list[str]:
    """The patches whose file is mounted by this launch, each as `name sha256:…` of what is mounted."""
    found = []
    for name, patch in patches.items():
        for source in mounted_over(spec, patch.file):
            try:
                content = Path(source).read_bytes()
            except OSError:
                found.append(f"{name} unreadable")
            else:
                found.append(f"{name} sha256:{hashlib.sha256(content).hexdigest()}")
    return found


def mounted_over(spec: LaunchSpec, file: str) -> list[str]:
    """The host's files that this launch mounts over a file of the image."""
    words = list(spec.argv)
    volumes = [word for at, word in enumerate(words) if at and words[at - 1] in ("-v", "--volume")]
    volumes += [word.partition("=")[2] for word in words if word.startswith(("--volume=", "-v="))]
    mounts = [word for at, word in enumerate(words) if at and words[at - 1] == "--mount"]
    mounts += [word.partition("=")[2] for word in words if word.startswith("--mount=")]
    found = [parts[0] for parts in (volume.split(":") for volume in volumes) if len(parts) > 1 and parts[1] == file]
    for mount in mounts:
        fields = dict(part.partition("=")[::2] for part in mount.split(","))
        target = fields.get("target") or fields.get("dst") or fields.get("destination")
        if target == file:
            found.append(fields.get("source") or fields.get("src") or "")
    return found


def driver_version(path: Path = _DRIVER) -> str | None:
    """The GPU driver's version as its kernel module tells it; None without one."""
    try:
        line = path.read_text("utf-8", "replace").partition("\n")[0]
    except OSError:
        return None
    return next((word for word in line.split() if word[:1].isdigit() and "." in word), None)


async def _platform_digest(supply: Supply, spec: LaunchSpec) -> str | None:
    """The entry for this platform in the pinned index, if a registry can be asked."""
    reference = parse_reference(spec.image)
    if reference.digest is None:
        return None
    async with supply.client() as client:
        answer = await supply.ask(client, supply.upstream(spec.engine, reference), reference.digest)
    if not isinstance(answer, Manifest):
        return None
    entry = answer.entry_for(supply.platform)
    return entry.digest if entry else None if answer.entries else answer.digest
