"""A file out of an image: a container that is created, never run, and always removed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from pitstop.core.errors import UsageError
from pitstop.launch import command, proc
from pitstop.launch.command import CommandFailed, Failure, Output
from pitstop.launch.container_engine import ContainerEngine
from pitstop.supply.reference import parse_reference

_LABEL = "pitstop.patch"
_CREATE_S, _COPY_S, _REMOVE_S = 180.0, 120.0, 60.0
_MAX_BYTES = 64 * 2**20


async def bound_image(binary: str, environ: Mapping[str, str], image: str) -> str:
    """The local id of the image that a patch belongs to; UsageError when this machine does not have that digest."""
    engine = ContainerEngine(binary, environ)
    found = await engine.image(lookup(image))
    if found is None:
        raise UsageError(f"the image {image} is not on this machine.", hint=f"Fetch it: {binary} pull {lookup(image)}")
    if not is_bound(image, found[0], found[1]):
        raise UsageError(f"{image} leads to another image here: {found[0]}.", hint="Write the digest that is meant.")
    return found[0]


def is_bound(image: str, image_id: str, digests: tuple[str, ...]) -> bool:
    """Whether a local image is the one that a patch names: by its own id, or by the digest of its repository. Pure."""
    if image.startswith("sha256:"):
        return image_id.removeprefix("sha256:") == image.removeprefix("sha256:")
    # Under containerd an image's id is its digest; a copy from a mirror has the digest under another repository.
    digest = parse_reference(image).digest
    return digest == image_id or any(one.partition("@")[2] == digest for one in digests)


def lookup(image: str) -> str:
    """What a container engine looks an image up by: the digest, for a tag beside it may have moved."""
    return image if image.startswith("sha256:") else parse_reference(image).by_digest


async def file_of(binary: str, environ: Mapping[str, str], image_id: str, file: str, name: str) -> bytes:
    """The content of one file of an image. UsageError when it is not there, or is no file."""
    async with _container(binary, environ, image_id, name) as container, _folder() as folder:
        target = folder / "file"
        follow = ["--follow-link"] if binary == "docker" else []  # podman follows by itself
        argv = [binary, "cp", *follow, f"{container}:{file}", str(target)]
        try:
            await command.run(argv, environ=environ, timeout_s=_COPY_S)
        except CommandFailed as failed:
            if failed.failure in (Failure.DAEMON_DOWN, Failure.FORBIDDEN, Failure.TIMED_OUT, Failure.MISSING):
                raise
            raise UsageError(f"the image has no file {file}: {failed.said.strip()[-300:]}") from failed
        return await asyncio.to_thread(_content, target, file)


def _content(target: Path, file: str) -> bytes:
    if not target.is_file() or target.is_symlink():
        raise UsageError(f"{file} is no file in the image.", hint="Name the file itself.")
    if target.stat().st_size > _MAX_BYTES:
        raise UsageError(f"{file} has more than {_MAX_BYTES >> 20} MiB: that is no source file.")
    return target.read_bytes()


@contextlib.asynccontextmanager
async def _container(binary: str, environ: Mapping[str, str], image_id: str, name: str) -> AsyncIterator[str]:
    """Removed when a step fails, at Ctrl-C and SIGTERM; after a SIGKILL of ours, by the next build."""
    await _sweep(binary, environ)
    own = f"pitstop-patch-{name}-{os.getpid()}-{secrets.token_hex(3)}".lower()
    labels = ["--label", f"{_LABEL}={name}", "--label", f"{_LABEL}.pid={os.getpid()}"]
    argv = [binary, "create", "--pull", "never", "--network", "none", "--name", own, *labels, image_id, "true"]
    creating = asyncio.ensure_future(command.run(argv, environ=environ, timeout_s=_CREATE_S))
    try:
        await asyncio.shield(creating)
        yield own
    finally:
        await _to_its_end(asyncio.ensure_future(_put_away(binary, environ, own, creating)))


async def _put_away(binary: str, environ: Mapping[str, str], name: str, creating: asyncio.Future[Output]) -> None:
    """Wait until it is made, for what is not there yet cannot be removed, and remove it."""
    with contextlib.suppress(CommandFailed):
        await creating
    await _remove(binary, environ, name)


async def _to_its_end(work: asyncio.Future[None]) -> None:
    """Wait for it whatever comes: a cancellation that arrives meanwhile is passed on afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    work.result()


async def _sweep(binary: str, environ: Mapping[str, str]) -> None:
    """Remove what a build left that was killed: its label names a process that is not there any more."""
    form = f'{{{{.Names}}}} {{{{.Label "{_LABEL}.pid"}}}}'
    argv = [binary, "ps", "--all", "--filter", f"label={_LABEL}.pid", "--format", form]
    try:
        done = await command.run(argv, environ=environ, timeout_s=_REMOVE_S)
    except CommandFailed:
        return  # an old podman does not know the form; what follows says what is wrong if it is more than that
    for line in done.out.splitlines():
        name, _, pid = line.strip().rpartition(" ")
        if name and pid.isdigit() and proc.read(int(pid)) is None:
            await _remove(binary, environ, name)


async def _remove(binary: str, environ: Mapping[str, str], name: str) -> None:
    await ContainerEngine(binary, environ).remove(name)


@contextlib.asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pitstop-patch-") as folder:
        yield Path(folder)
