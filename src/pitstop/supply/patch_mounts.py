"""What lies over a file of an image: by the words of a launch before it, by the container itself after it. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from pitstop.launch.container import Container
from pitstop.launch.container_engine import registry_digest
from pitstop.launch.launcher import LaunchSpec


def mounted_over(spec: LaunchSpec, file: str) -> list[str]:
    """The host's files that a `docker run` would mount over a file of the image."""
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


def source_over(found: Container, file: str) -> str:
    """The host's file that a container has in place of one of its image; "" where the image's own is there.

    A folder that is mounted above the file covers it too; of several, the nearest does.
    """
    file = posixpath.normpath(file)
    mounts = [(str(one.get("Destination") or "."), str(one.get("Source") or "")) for one in found.mounts or ()]
    places = [(posixpath.normpath(place), source) for place, source in mounts if source]
    over = [(place, source) for place, source in places if f"{file}/".startswith(f"{place.rstrip('/')}/")]
    if not over:
        return ""
    place, source = max(over, key=lambda one: len(one[0]))
    return source + file.removeprefix(place.rstrip("/"))


def image_called(found: Container, digests: Sequence[str]) -> str:
    """A container's image as a patch would name it: with its registry's digest, or by its own id."""
    name = str(found.config.get("Image") or "")
    if "@" in name:
        return name
    digest = registry_digest(found.image, digests, name)
    return f"{name}@{digest}" if name and digest != found.image else found.image
