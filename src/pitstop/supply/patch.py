"""Patches: built from the image that they belong to, checked against another, watched over at launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pitstop.core.config.engine import ComposeLaunch, DockerLaunch, Engine, Launch, ScriptLaunch, SystemdLaunch
from pitstop.core.config.patch import Patch
from pitstop.core.durable import write_durably
from pitstop.core.errors import UsageError
from pitstop.decisions.patching import Change, Examined, Fit, diff, examine, sha256_of
from pitstop.launch.container import Container
from pitstop.launch.container_engine import ContainerEngine
from pitstop.supply.patch_image import bound_image, file_of, is_bound, lookup
from pitstop.supply.patch_mounts import image_called
from pitstop.supply.pin_file import image_of

MODE = 0o644  # the engine in the container may be another user


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """A patched file on this machine, with the option that mounts it over the image's own."""

    name: str
    image: str
    file: str
    path: str
    sha256: str
    sha256_before: str
    diff: str
    mount: tuple[str, str]
    written: bool  # False: it lay there already, the same


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A patch against the image that its engine has now."""

    name: str
    image: str
    status: str  # needed | fixed-upstream | does-not-apply
    reason: str
    bound: bool  # whether it is the image that the patch was made for
    upstream: str


@dataclass(frozen=True)
class Workshop:
    """What building needs: the engine's launch, the environment of docker, and where patched files go."""

    engine: Engine
    environ: Mapping[str, str]
    folder: Path

    @property
    def binary(self) -> str:
        binary = binary_for(self.engine.launch)
        if binary is None:
            raise UsageError(
                "this engine runs in no container that the configuration names, and a patch belongs to an image.",
                hint='Give its launch a `container`, where `with = "script"` or a systemd unit starts one.',
            )
        return binary


async def build(name: str, patch: Patch, workshop: Workshop, *, dry_run: bool = False) -> Built:
    """Take the file out of the image, change it if it is exactly what was expected, and write it. Else UsageError."""
    image_id = await bound_image(workshop.binary, workshop.environ, patch.image)
    content = await file_of(workshop.binary, workshop.environ, image_id, patch.file, name)
    found = examine(content, change_of(patch))
    if found.patched is None:
        raise _refusal(name, patch, found)
    path = patched_path(name, patch, workshop.folder)
    written = _write(path, found.patched) if not dry_run else False
    return Built(
        name=name, image=patch.image, file=patch.file, path=str(path), written=written,
        sha256=sha256_of(found.patched), sha256_before=sha256_of(content),
        diff=diff(content, found.patched, patch.file), mount=("-v", f"{path}:{patch.file}:ro"),
    )  # fmt: skip


def binary_for(launch: Launch | None) -> str | None:
    """The container engine's program: docker where the launch names none; None where there is no container. Pure."""
    match launch:
        case DockerLaunch(binary=binary):
            return binary
        case ComposeLaunch():
            return "docker"
        case ScriptLaunch(container=container) | SystemdLaunch(container=container) if container:
            return "docker"
    return None


async def check(name: str, patch: Patch, workshop: Workshop, container: Container | None = None) -> Checked:
    """Whether the image that the engine has now still needs the patch, is mended, or has become something else.

    That is the configuration's image, else the one of its `container`, up or not; else the patch's own.
    """
    configured = image_of(workshop.engine)
    engine = ContainerEngine(workshop.binary, workshop.environ)
    image = configured or (container.image if container else lookup(patch.image))
    found = await engine.image(image)
    if found is None:
        raise UsageError(f"the image {image} is not on this machine.", hint=f"Fetch it: {workshop.binary} pull {image}")
    if not configured:
        image = image_called(container, found[1]) if container else patch.image
    content = await file_of(workshop.binary, workshop.environ, found[0], patch.file, name)
    bound = is_bound(patch.image, *found)
    examined = examine(content, change_of(patch) if bound else _without_hash(change_of(patch)))
    status = {Fit.APPLIES: "needed", Fit.ALREADY: "fixed-upstream"}.get(examined.fit, "does-not-apply")
    reason = examined.reason + ("" if bound else "; it is another image than the patch was made for: build it anew")
    return Checked(name=name, image=image, status=status, reason=reason, bound=bound, upstream=patch.upstream)


def change_of(patch: Patch) -> Change:
    return Change(patch.expect, patch.replace, patch.count, patch.sha256)


def patched_path(name: str, patch: Patch, folder: Path) -> Path:
    """Where the patched file lies: it names its image, so that no file of another one is mounted by mistake."""
    digest = patch.image.rpartition("sha256:")[2][:12]
    own = Path(patch.folder) if patch.folder else folder
    return own / f"{name}-{digest}-{Path(patch.file).name}"


def _without_hash(change: Change) -> Change:
    """Another image has another file; only the lines can say whether the patch still means something there."""
    return Change(change.expect, change.replace, change.count)


def _write(path: Path, content: bytes) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.read_bytes() == content:
            return False
        write_durably(path, content, mode=MODE)
        path.chmod(MODE)  # whatever the umask said
    except OSError as error:
        raise UsageError(
            f"{path} could not be written: {error.strerror or error}.",
            hint="Make the folder, or name another: folder = … in the patch.",
        ) from error
    return True


def _refusal(name: str, patch: Patch, found: Examined) -> UsageError:
    if found.fit is Fit.ALREADY:
        return UsageError(
            f"patch {name} is not needed: {found.reason} in {patch.file} of {patch.image}.",
            hint="Nothing was written. Remove the patch and its mount.",
        )
    return UsageError(
        f"patch {name} does not fit {patch.file} of {patch.image}: {found.reason}.",
        hint="Nothing was written. Look at the file in this image and write the patch for it.",
    )
