"""Keeps images on the machine while nothing runs from them: a container of each that sleeps.

A cleanup (`docker system prune --all`, `image prune`, `rmi`) takes the image of a stopped engine for unused, and leaves
alone what a running container is made of. Where the image has no `sleep` the container exists without running, which
still keeps the image from all of them but those that remove stopped containers first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from pitstop.launch.command import CommandFailed
from pitstop.launch.container_engine import ContainerEngine

LABEL_KEEPS = "pitstop.keeps-images-for"
_SECONDS = str(2**31 - 1)  # 68 years; not every `sleep` knows "infinity"


async def keep(engine: ContainerEngine, owner: str, images: Iterable[str]) -> list[str]:
    """Keep these images, ids or names, for `owner` (a trial's id); why some of them cannot be, as sentences."""
    problems = []
    for image in dict.fromkeys(images):
        found = await engine.image(image)
        if found is None:
            problems.append(f"image {image} is not on this machine any more.")
            continue
        name = _name(owner, found[0])
        if await engine.inspect(name) is not None:
            continue
        try:
            made = await engine.run(keep_argv(engine.binary, owner, found[0]), {})
        except CommandFailed as failed:
            problems.append(f"image {image} is not kept from being cleaned away: {failed.message}")
            continue
        with contextlib.suppress(CommandFailed):  # it has no `sleep`
            await engine.start(made)
    return problems


async def let_go(engine: ContainerEngine, owner: str) -> None:
    """The images of `owner` may be cleaned away again. One that is not let go of does not hold the others."""
    refused: CommandFailed | None = None
    for one in await engine.labelled(f"{LABEL_KEEPS}={owner}"):
        try:
            await engine.remove(one)
        except CommandFailed as failed:
            refused = failed
    if refused is not None:
        raise refused


def keep_argv(binary: str, owner: str, image: str) -> list[str]:
    """The container that keeps `image`: without network, GPU or a restart of its own. Pure."""
    own = ["--name", _name(owner, image), "--label", f"{LABEL_KEEPS}={owner}", "--restart", "no", "--no-healthcheck"]
    shut = ["--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    # NVIDIA's runtime, where it is the default one, hands the GPU to every image that asks for it.
    shut += ["--env", "NVIDIA_VISIBLE_DEVICES=void"]
    return [binary, "create", "--pull", "never", *own, *shut, "--entrypoint", "sleep", image, _SECONDS]


def _name(owner: str, image: str) -> str:
    kept = "".join(one if one.isalnum() else "-" for one in image.removeprefix("sha256:")[:12])
    return f"pitstop-keeps-{owner}-{kept}"
