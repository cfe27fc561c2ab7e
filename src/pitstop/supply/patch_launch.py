"""Patches at launch: none over an image that it was not made for, and none that the process does not import."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pitstop.core.config.patch import Patch
from pitstop.core.errors import UsageError
from pitstop.decisions.patching import Change, Fit, examine, module_of, sha256_of
from pitstop.launch import proc
from pitstop.launch.command import CommandFailed
from pitstop.launch.container_engine import ContainerEngine
from pitstop.launch.containers import engine_of
from pitstop.launch.launcher import LaunchSpec
from pitstop.supply.lock import mounted_over
from pitstop.supply.patch_image import is_bound

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
    """Before a launch. UsageError when a patched file would lie over another image, or is not what a build made."""
    mounted = {name: patch for name, patch in _of(patches, spec) if mounted_over(spec, patch.file)}
    if not mounted:
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
    found = examine(content, Change(patch.expect, patch.replace, patch.count))
    if patch.replace.strip() and found.fit is not Fit.ALREADY:
        raise UsageError(
            f"patch {name}: {source}, which would be mounted, is not what the patch makes ({found.reason}).",
            hint=f"Build it anew: pitstop patch build {name}",
        )


async def imported(patches: Mapping[str, Patch], spec: LaunchSpec, container: str, pid: int | None) -> list[Imported]:
    """After a launch: for each mounted patch, the file that the engine's own Python imports, and whether it is ours."""
    engine = engine_of(spec)
    python = interpreter_of(pid)
    return [
        await _imported(engine, container, python, name, patch, source)
        for name, patch in _of(patches, spec)
        for source in mounted_over(spec, patch.file)
    ]


@dataclass(frozen=True)
class Interpreter:
    """The Python that an engine's process was started with, and what its environment adds to the search path."""

    argv0: str = "python3"
    path: tuple[str, ...] = ()


def interpreter_of(pid: int | None) -> Interpreter:
    """The interpreter as it was called: a venv's `python` finds other files than the one that it links to."""
    for one in _family(pid) if pid is not None else ():
        words = proc.arguments(one)
        if words and Path(words[0]).name.startswith("python"):
            added = (proc.environment(one) or {}).get("PYTHONPATH", "")
            return Interpreter(words[0], tuple(part for part in added.split(":") if part))
    return Interpreter()


def _family(pid: int) -> list[int]:
    """A process and its descendants, parents first."""
    children: dict[int, list[int]] = {}
    for process in proc.processes().values():
        children.setdefault(process.parent, []).append(process.pid)
    family = [pid]
    for member in family:
        family += children.get(member, [])
    return family


async def _imported(
    engine: ContainerEngine, container: str, python: Interpreter, name: str, patch: Patch, source: str
) -> Imported:
    module = patch.module or module_of(patch.file)
    if not module:
        return Imported(name, None, None, f"no module can be told from {patch.file}; give the patch a `module`")
    try:
        said = await engine.execute(container, [python.argv0, "-c", _FIND, module, *python.path])
        answer = json.loads(said.strip().splitlines()[-1])
        file, digest = answer["file"], answer["sha256"]
    except (CommandFailed, ValueError, KeyError, IndexError, TypeError) as error:
        return Imported(name, None, None, f"the engine's {python.argv0} could not be asked: {error}"[:300])
    return Imported(name, file, digest, _problem(patch, source, file, digest))


def _problem(patch: Patch, source: str, file: str | None, digest: str | None) -> str:
    if file is None:
        return f"the engine's Python finds no module {patch.module or module_of(patch.file)}"
    try:
        ours = sha256_of(Path(source).read_bytes())
    except OSError as error:
        return f"{source} cannot be read: {error.strerror or error}"
    if digest == ours:
        return ""
    where = "" if file == patch.file else f" from {file}, not from {patch.file}"
    return f"the engine imports another file{where}: the patch has no effect"


def problems(found: Sequence[Imported]) -> list[str]:
    """A sentence for each patch that is not in force."""
    return [f"patch {one.patch}: {one.problem}" for one in found if one.problem]


def _of(patches: Mapping[str, Patch], spec: LaunchSpec) -> list[tuple[str, Patch]]:
    return [(name, patch) for name, patch in patches.items() if patch.engine == spec.engine]
