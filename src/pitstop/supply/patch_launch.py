"""Patches at launch: none over an image that it was not made for, and none that the process does not import."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pitstop.core.config.patch import Patch
from pitstop.core.errors import UsageError
from pitstop.decisions.patch_in_force import Laid, Loaded, misfit, unlike, without_effect
from pitstop.decisions.patching import module_of
from pitstop.launch.command import CommandFailed
from pitstop.launch.container import Container
from pitstop.launch.container_engine import ContainerEngine
from pitstop.launch.containers import engine_of
from pitstop.launch.launcher import Launcher, LaunchSpec
from pitstop.supply.interpreter import Interpreter, interpreter_of
from pitstop.supply.patch import change_of
from pitstop.supply.patch_image import is_bound
from pitstop.supply.patch_mounts import image_called, mounted_over, source_over

# Finds the file that `import NAME` would load, without importing the package, which may take a GPU and a minute.
_FIND = """
import hashlib, importlib.machinery as machinery, importlib.util as util, json, sys
sys.path[:0] = sys.argv[2:]
names = sys.argv[1].split('.')
spec = util.find_spec(names[0])
for at in range(1, len(names)):
    if spec is None: break
    spec = machinery.PathFinder.find_spec('.'.join(names[:at + 1]), spec.submodule_search_locations or [])
file = spec.origin if spec else None
print(json.dumps({'file': file, 'sha256': hashlib.sha256(open(file, 'rb').read()).hexdigest() if file else None}))
"""


@dataclass(frozen=True)
class Imported:
    """What a running engine does with a patched file; `problem` is empty when the patch is in force."""

    patch: str
    file: str | None
    sha256: str | None
    problem: str = ""


async def refuse_unfit(patches: Mapping[str, Patch], spec: LaunchSpec) -> None:
    """Before a launch whose command says what it mounts, as only `with = "docker"` does.

    UsageError when a patched file would lie over another image, or is not what a build made.
    """
    mounted = {name: patch for name, patch in _of(patches, spec) if mounted_over(spec, patch.file)}
    if not mounted or spec.launcher != "docker":
        return
    found = await engine_of(spec).image(spec.options.get("image_id") or spec.image)
    for name, patch in mounted.items():
        if found is None or not is_bound(patch.image, *found):
            raise UsageError(
                f"patch {name} belongs to {patch.image}, and engine {spec.engine} would run {spec.image}.",
                hint=f"Run `pitstop patch check {name}`, then build it for this image or leave out its mount.",
            )
        for source in mounted_over(spec, patch.file):
            _refuse_foreign_content(name, patch, source)


def _refuse_foreign_content(name: str, patch: Patch, source: str) -> None:
    """What is mounted must hold the replacement and nothing of what it replaces."""
    try:
        content = Path(source).read_bytes()
    except OSError as error:
        raise UsageError(
            f"patch {name}: {source}, which would be mounted, cannot be read: {error.strerror or error}.",
            hint=f"Build it: pitstop patch build {name}",
        ) from error
    if why := unlike(content, change_of(patch)):
        raise UsageError(
            f"patch {name}: {source}, which would be mounted, is not what the patch makes ({why}).",
            hint=f"Build it anew: pitstop patch build {name}",
        )


async def unfit(patches: Mapping[str, Patch], launcher: Launcher, spec: LaunchSpec) -> str:
    """After a launch of whatever kind: what lies over a patched file and is not the patch for this image; "": nothing.

    The container is asked what it really mounts. Whether the engine imports the file is another question.
    """
    found = await launcher.container(spec) if _of(patches, spec) else None
    seen = await _laid(patches, spec, found) if found is not None else []
    said = [(name, misfit(laid, change_of(patch))) for name, patch, laid in seen]
    return "; ".join(f"patch {name}: {problem}" for name, problem in said if problem)


async def imported(patches: Mapping[str, Patch], spec: LaunchSpec, found: Container) -> list[Imported]:
    """After a launch of whatever kind: of each patch that is mounted, whether it is the right one, and is imported."""
    python = interpreter_of(found.state.pid or None)
    seen = await _laid(patches, spec, found)
    return [await _imported(engine_of(spec), found.id, python, *one) for one in seen]


def problems(found: Sequence[Imported]) -> list[str]:
    """A sentence for each patch that is not in force."""
    return [f"patch {one.patch}: {one.problem}" for one in found if one.problem]


async def _laid(patches: Mapping[str, Patch], spec: LaunchSpec, found: Container) -> list[tuple[str, Patch, Laid]]:
    """Of each patch of this engine over whose file something is mounted: what."""
    sources = [(name, patch, source_over(found, patch.file)) for name, patch in _of(patches, spec)]
    if not any(source for _, _, source in sources):
        return []
    image_id, digests = await engine_of(spec).image(found.image) or (found.image, ())
    called = image_called(found, digests)
    return [
        (name, patch, Laid(source, _content(source), patch.image, called, is_bound(patch.image, image_id, digests)))
        for name, patch, source in sources
        if source
    ]


def _content(source: str) -> bytes | None:
    try:
        return Path(source).read_bytes()
    except OSError:
        return None


async def _imported(
    engine: ContainerEngine, container: str, python: Interpreter, name: str, patch: Patch, laid: Laid
) -> Imported:
    if problem := misfit(laid, change_of(patch)):
        return Imported(name, None, None, problem)
    module = patch.module or module_of(patch.file)
    if not module:
        return Imported(name, None, None, f"no module can be told from {patch.file}; give the patch a `module`")
    try:
        said = await engine.execute(container, [python.argv0, "-c", _FIND, module, *python.path])
        answer = json.loads(said.strip().splitlines()[-1])
        loaded = Loaded(module, answer["file"], answer["sha256"])
    except (CommandFailed, ValueError, KeyError, IndexError, TypeError) as error:
        return Imported(name, None, None, f"the engine's {python.argv0} could not be asked: {error}"[:300])
    return Imported(name, loaded.file, loaded.sha256, without_effect(laid, loaded, patch.file))


def _of(patches: Mapping[str, Patch], spec: LaunchSpec) -> list[tuple[str, Patch]]:
    return [(name, patch) for name, patch in patches.items() if patch.engine == spec.engine]
