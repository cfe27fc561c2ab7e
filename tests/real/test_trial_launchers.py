"""The main job through the other launchers: real Podman, a person's own script around Docker, a compose file."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pitstop.launch.memory_back import read_memory
from pitstop.supply.model import cache_folder, embedded_model
from support import docker_engine, podman
from support.box import SHORT, Box
from support.docker_box import Begun, box_of, generated, trials

pytestmark = pytest.mark.real
GIB = 2**30
# llama.cpp in a process that holds as much memory beside it as it is told to.
SERVER = """import os, runpy, sys
ballast = b"x" * (int(os.environ["EAT"]) << 20)
sys.argv = sys.argv[1:]
runpy.run_module("pitstop.supply.llamacpp_server", run_name="__main__", alter_sys=True)
"""
BOX = """
[host]
min_available = "500 MiB"
[engine.smol]
kind = "llamacpp"
model = "smollm2"
base_url = "http://127.0.0.1:{port}/v1"
production = true
boot_timeout = "2 min"
stop_timeout = "10 s"
[engine.smol.launch]
{launch}
[engine.smol.knob.EAT]
env = "EAT"
default = "0"
[trial.quick]{short}guard = {{ min_available = "{floor} B" }}
[trial.quick.variant.heavy]
EAT = "{eat}"
"""
START = """#!/bin/sh
docker rm --force {name} >/dev/null 2>&1
exec docker run --detach --name {name} --restart unless-stopped --env EAT {run} {image} {command}
"""
COMPOSE = """version: "2.4"
services:
  smol:
    image: {image}
    container_name: {name}
    network_mode: host
    restart: always
    volumes: [{volumes}]
    command: {command}
    environment:
      PYTHONPATH: "{path}"
      EAT: "${{EAT:-0}}"
"""


@dataclass
class World:
    """A box whose production runs in a container of this name, and the program that knows it."""

    box: Box
    binary: str
    name: str
    port: int

    def ask(self, *words: str) -> str:
        environ = {**os.environ, **self.box.environ}
        done = subprocess.run(
            [self.binary, *words], check=True, capture_output=True, text=True, timeout=60, env=environ
        )
        return done.stdout.strip()

    def is_back(self) -> None:
        assert self.ask("container", "inspect", "--format", "{{.State.Running}}", self.name) == "true"
        assert generated(self.port, "smollm2")
        assert json.loads(self.box.run("status", "--json").stdout)["owed"] == []
        assert self.ask("ps", "--all", "--quiet", "--filter", "label=pitstop.keeps-images-for") == ""


def words_of(port: int) -> tuple[list[str], list[str], str]:
    """The command in the container, the mounts that it needs, and its PYTHONPATH."""
    model = embedded_model(cache_folder(os.environ))
    command = [os.path.realpath(sys.executable), "-c", SERVER, "llamacpp_server", "--model", str(model)]
    command += ["--port", str(port), "--alias", "smollm2", "--ctx", "1024", "--threads", "1"]
    packages = next(Path(sys.prefix).glob("lib/python3*/site-packages"))
    mounts = [*docker_engine.mounts(), "-v", f"{model.parent}:{model.parent}:ro"]
    return command, mounts, f"{packages}:{Path(__file__).parents[2] / 'src'}"


def of_podman(root: Path, name: str, port: int) -> str:
    command, mounts, path = words_of(port)
    run = ["--network", "host", *podman.LIMITS, *mounts]
    return f"""with = "docker"
binary = "podman"
name = "{name}"
image = "{podman.image(root)}"
run = {json.dumps(run)}
command = {json.dumps(command)}
env = {{ PYTHONPATH = "{path}" }}"""


def of_script(root: Path, name: str, port: int) -> str:
    command, mounts, path = words_of(port)
    run = shlex.join(["--network", "host", "--env", f"PYTHONPATH={path}", *mounts])
    script = root / "start.sh"
    script.write_text(START.format(name=name, run=run, image=docker_engine.IMAGE, command=shlex.join(command)))
    script.chmod(0o755)
    return f'with = "script"\nstart = ["{script}"]\ncontainer = "{name}"'


def of_compose(root: Path, name: str, port: int) -> str:
    command, mounts, path = words_of(port)
    quoted = json.dumps([word.replace("$", "$$") for word in command])
    volumes = json.dumps(mounts[1::2])[1:-1]
    text = COMPOSE.format(image=docker_engine.IMAGE, name=name, volumes=volumes, command=quoted, path=path)
    (root / "compose.yaml").write_text(text)
    return f'with = "compose"\nfile = "{root}/compose.yaml"\nservice = "smol"'


LAUNCHERS = {"podman": (of_podman, 31060), "script": (of_script, 31061), "compose": (of_compose, 31062)}


@pytest.fixture(params=LAUNCHERS)
def launcher(request):
    return request.param


@pytest.fixture
def make(tmp_path, launcher):
    """Production up by that launcher, and a variant that takes so much more memory than it."""
    podman.ensure()
    launch, port = LAUNCHERS[launcher]
    root, made = tmp_path / "box", []
    root.mkdir()

    def world(*, floor: int = 100 * 2**20, eat_mib: int = 1) -> World:
        name = f"pitstop-trial-{port}"
        box = box_of(
            root, BOX.format(port=port, launch=launch(root, name, port), floor=floor, eat=eat_mib, short=SHORT)
        )
        box.environ.update(podman.environ(root))
        made.append(World(box, "podman" if launcher == "podman" else "docker", name, port))
        remove(made[0])
        up = box.run("up", timeout=180)
        assert up.returncode == 0, up.stderr
        return made[0]

    yield world
    for one in made:
        one.box.run("trial", "recover", timeout=180)
        one.box.run("down")
        remove(one)


def remove(world: World) -> None:
    for one in world.ask("ps", "--all", "--quiet", "--filter", f"name={world.name}").split():
        world.ask("rm", "--force", one)


def test_a_whole_trial_under_the_guard(make):
    world = make()
    done = world.box.run("trial", "run", "quick", "--json", timeout=300)
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    assert document["state"] == "finished", done.stderr
    assert [len(arm["runs"]) for arm in document["arms"]] == [1, 1]
    log = (world.box.root / "state/logs/guard-smol.log").read_text()
    assert log.count("owns container") >= 2, log
    world.is_back()


def test_a_variant_that_takes_too_much_is_killed_and_that_is_its_result(make):
    world = make(floor=(read_memory().available_bytes or 0) - 2 * GIB, eat_mib=4000)
    done = world.box.run("trial", "run", "quick", "--json", timeout=300)
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    [incident] = document["arms"][1]["incidents"]
    assert "memory guard" in incident["reason"], done.stderr
    assert document["production"]["restored"]
    world.is_back()


def test_killed_while_a_variant_is_measured_the_next_one_puts_production_back(make):
    world = make()
    trial = Begun(world.box, "trial", "run", "quick")
    trial.wait_for(
        lambda lines: sum(line["kind"] == "begun" and line["action"]["do"] == "measure" for line in lines) > 1
    )
    trial.kill()
    recovered = world.box.run("trial", "recover", timeout=180)
    assert recovered.returncode == 0, recovered.stderr
    assert trials(world.box)
    world.is_back()
