"""What pitstop asks docker for when it keeps images, on a strict stand-in; the real one is in tests/real."""

import json
import sys

import pytest

from pitstop.launch.command import CommandFailed
from pitstop.launch.container_engine import ContainerEngine
from pitstop.launch.kept_images import keep, keep_argv, let_go

PRODUCTION, OTHER = "sha256:" + "ab" * 32, "sha256:" + "cd" * 32
DOCKER = """#!{python} -IS
import json, pathlib, sys
path = pathlib.Path(__file__).with_name("world.json")
world = json.loads(path.read_text())
words = sys.argv[1:]
match words:
    case ["image", "inspect", image] if image in world["images"]:
        print(json.dumps([{{"Id": world["images"][image], "RepoDigests": []}}]))
    case ["container", "inspect", name] if name in world["containers"]:
        state = {{"Status": "running", "Running": True, "Pid": 7}}
        config = {{"Image": "i", "Labels": {{}}}}
        print(json.dumps([{{"Id": name, "Name": "/" + name, "Image": "i", "State": state, "Config": config}}]))
    case ["image" | "container", "inspect", name]:
        sys.exit(print(f"Error: No such object: {{name}}", file=sys.stderr) or 1)
    case ["create", *_]:
        name = words[words.index("--name") + 1]
        world["containers"][name] = words[-2]
        world["created"] += 1
        path.write_text(json.dumps(world))
        print(name)
    case ["start", name] if name in world["containers"]:
        if world["no_sleep"]:
            sys.exit(print("exec: sleep: executable file not found in $PATH", file=sys.stderr) or 127)
        world["asleep"] += 1
        path.write_text(json.dumps(world))
    case ["ps", "--all", "--quiet", "--no-trunc", "--filter", "label=pitstop.keeps-images-for=qwen"]:
        print("\\n".join(world["containers"]))
    case ["rm", "--force", "--volumes", name] if name == world.get("stuck"):
        sys.exit(print("device or resource busy", file=sys.stderr) or 1)
    case ["rm", "--force", "--volumes", name]:
        del world["containers"][name]
        path.write_text(json.dumps(world))
    case _:
        sys.exit(f"unknown words {{words!r}}")
"""


@pytest.fixture
def world(tmp_path):
    program = tmp_path / "docker"
    program.write_text(DOCKER.format(python=sys.executable))
    program.chmod(0o755)
    images = {"r:1": PRODUCTION, PRODUCTION: PRODUCTION, "r:2": OTHER}
    path = tmp_path / "world.json"
    path.write_text(json.dumps({"images": images, "containers": {}, "created": 0, "asleep": 0, "no_sleep": False}))
    return path


def engine(world):
    return ContainerEngine(str(world.with_name("docker")), {"PATH": "/usr/bin:/bin"})


def read(world):
    return json.loads(world.read_text())


async def test_each_image_is_kept_once_however_often_and_under_whatever_name_it_is_asked_for(world):
    for _ in range(2):
        assert await keep(engine(world), "qwen", [PRODUCTION, "r:1", "r:2", "r:1"]) == []
    assert sorted(read(world)["containers"].values()) == [PRODUCTION, OTHER]
    assert (read(world)["created"], read(world)["asleep"]) == (2, 2)
    await let_go(engine(world), "qwen")
    assert read(world)["containers"] == {}


async def test_one_that_cannot_be_let_go_does_not_hold_the_others(world):
    await keep(engine(world), "qwen", [PRODUCTION, OTHER])
    first = next(iter(read(world)["containers"]))
    world.write_text(json.dumps({**read(world), "stuck": first}))
    with pytest.raises(CommandFailed, match="device or resource busy"):
        await let_go(engine(world), "qwen")
    assert list(read(world)["containers"]) == [first]


async def test_an_image_without_sleep_is_kept_by_a_container_that_never_ran(world):
    world.write_text(json.dumps({**read(world), "no_sleep": True}))
    assert await keep(engine(world), "qwen", ["r:1"]) == []
    assert list(read(world)["containers"].values()) == [PRODUCTION]


async def test_what_is_not_here_cannot_be_kept_and_the_others_are(world):
    [problem] = await keep(engine(world), "qwen", ["r:9", "r:2"])
    assert "image r:9 is not on this machine" in problem
    assert list(read(world)["containers"].values()) == [OTHER]


def test_what_keeps_an_image_has_no_network_gpu_healthcheck_or_restart():
    argv = keep_argv("podman", "qwen", PRODUCTION)
    assert argv[:2] == ["podman", "create"]
    assert argv[-3:] == ["sleep", PRODUCTION, "2147483647"]
    for pair in (("--network", "none"), ("--restart", "no"), ("--pull", "never"), ("--cap-drop", "ALL")):
        assert argv[argv.index(pair[0]) + 1] == pair[1]
    assert "--no-healthcheck" in argv
    assert "NVIDIA_VISIBLE_DEVICES=void" in argv
