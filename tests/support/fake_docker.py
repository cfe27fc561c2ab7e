"""A strict stand-in for docker: knows the containers and images in its folder, and refuses words it does not know.

`put` makes it; its program lies in the folder as `docker`. Standard library only.
"""

import json
import shutil
import sys
from pathlib import Path


def put(folder, *, containers=(), images=None, imports=None):
    """Write the program and its world.

    `images`: id -> (registry digests, {file: content}); `imports`: what an exec of Python prints.
    """
    folder.mkdir(parents=True, exist_ok=True)
    world = {"containers": list(containers), "images": images or {}, "imports": imports}
    (folder / "world.json").write_text(json.dumps(world))
    program = folder / "docker"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {__file__} {folder} "$@"\n')
    program.chmod(0o755)


def container(name, image_id, image, *mounts, up=True):
    """What `inspect` says of it; `mounts` are pairs of the host's path and the one inside."""
    told = [{"Type": "bind", "Source": str(source), "Destination": place, "RW": False} for source, place in mounts]
    state = {"Status": "running" if up else "exited", "Running": up, "Pid": 2**22 + 1 if up else 0}
    return {
        "Id": name * 8, "Name": f"/{name}", "Image": image_id, "State": state, "Config": {"Image": image},
        "Mounts": told,
    }  # fmt: skip


def main(folder, words):
    world = json.loads((folder / "world.json").read_text())
    if not (asked(world, words) or changed(folder, world, words)):
        fail(f"docker: unknown words {words!r}", 125)


def asked(world, words):
    match words:
        case ["container", "inspect", name]:
            show(name, [one for one in world["containers"] if name in (one["Id"], one["Name"][1:])])
        case ["image", "inspect", name]:
            known = [(key, *one) for key, one in world["images"].items()]
            found = [one for one in known if name in (one[0], *one[1])]
            show(name, [{"Id": key, "RepoDigests": digests} for key, digests, _ in found])
        case ["exec", name, python, "-c", _, _] if python.startswith("python"):
            assert name in [one["Id"] for one in world["containers"] if one["State"]["Running"]], name
            say(json.dumps(world["imports"]))
        case ["compose", "--file", _, "ps", "--all", "--quiet", service]:
            say(*[one["Id"] for one in world["containers"] if one["Name"][1:] == service])
        case ["ps", "--all", "--filter", "label=pitstop.patch.pid", "--format", _]:
            say()
        case _:
            return False
    return True


def changed(folder, world, words):
    match words:
        case ["create", "--pull", "never", "--network", "none", "--name", name, *_, image, "true"]:
            (folder / name).mkdir()
            for file, content in world["images"][image][1].items():
                (folder / name / file.replace("/", "!")).write_text(content)
        case ["cp", "--follow-link", which, target]:
            name, _, file = which.partition(":")
            shutil.copy(folder / name / file.replace("/", "!"), target)
        case ["rm", "--force", "--volumes", name]:
            shutil.rmtree(folder / name)
        case _:
            return False
    return True


def show(name, found):
    if not found:
        fail(f"Error: No such object: {name}", 1)
    say(json.dumps(found))


def say(*words):
    sys.stdout.write(f"{' '.join(words)}\n")


def fail(words, code):
    sys.stderr.write(f"{words}\n")
    sys.exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
