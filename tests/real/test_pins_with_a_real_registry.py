"""Pins against a real docker-registry, copies with real skopeo, rollback without the registry they came from."""

import json
import os
import subprocess
import sys

import pytest

from pitstop.core.config.pins import Pins
from pitstop.supply import skopeo
from pitstop.supply.pins import Supply
from pitstop.supply.reference import parse_reference
from support import docker_engine
from support.real_registry import RealRegistry, index_of, make_image

pytestmark = pytest.mark.real
UPSTREAM, MIRROR = 29100, 29101
NAME = "o/engine"
TOML = """\
# a box
[pins]
mirror = "127.0.0.1:{mirror}"
platform = "linux/{architecture}"

[engine.q]
kind = "vllm"
model = "m"
base_url = "http://127.0.0.1:1/v1"
[engine.q.launch]
with = "docker"
name = "q"
image = "{image}"  # says where it came from
"""


@pytest.fixture
def registry(tmp_path):
    made = RealRegistry(tmp_path / "upstream", UPSTREAM).start()
    yield made
    made.stop()


@pytest.fixture
def mirror(tmp_path):
    made = RealRegistry(tmp_path / "mirror", MIRROR).start()
    yield made
    made.stop()


class Box:
    """pitstop on a machine with one engine."""

    def __init__(self, folder, image, architecture="arm64"):
        self.folder, self.file = folder, folder / "pitstop.toml"
        self.pin(image, architecture)

    def pin(self, image, architecture="arm64"):
        self.file.write_text(TOML.format(mirror=MIRROR, image=image, architecture=architecture))

    def pitstop(self, *words, code=0):
        program = "import sys, typer; from pitstop.cli import pins; app = typer.Typer(); pins.register(app); app()"
        done = subprocess.run(
            [sys.executable, "-c", program, "pins", *words, "--json", "--config", str(self.file)],
            check=False, capture_output=True, text=True, timeout=120,
            env={**os.environ, "PITSTOP_HOME": str(self.folder / "home")},
        )  # fmt: skip
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout) if done.stdout else {}

    def status(self, code):
        (pin,) = self.pitstop("check", code=code)["pins"]
        return pin["status"]


def test_a_tag_moves_goes_and_cannot_be_asked_for(registry, tmp_path):
    first = make_image(tmp_path, registry, NAME, "v1", "arm64", "one")
    amd = make_image(tmp_path, registry, NAME, "amd", "amd64", "one")
    both = registry.put(NAME, "v1", index_of(registry, NAME, arm64=first, amd64=amd))
    box = Box(tmp_path, f"{registry.host}/{NAME}:v1@{both}")
    assert box.status(0) == "match"
    box.pin(f"{registry.host}/{NAME}:v1@{first}")
    assert box.status(0) == "match-platform"
    box.pin(f"{registry.host}/{NAME}:v1@{amd}")
    assert box.status(1) == "wrong-platform"
    box.pin(f"{registry.host}/{NAME}:v1@{both}")
    other = make_image(tmp_path, registry, NAME, "other", "arm64", "two")
    registry.put(NAME, "v1", index_of(registry, NAME, arm64=other))
    assert box.status(1) == "moved"
    registry.delete(NAME, parse_reference(box_moved_to(box, registry)).digest)
    assert box.status(1) == "gone"
    registry.stop()
    assert box.status(3) == "unknown"


def box_moved_to(box, registry):
    (pin,) = box.pitstop("check", code=1)["pins"]
    return f"{registry.host}/{NAME}@{pin['upstream_digest']}"


def test_set_mirror_and_rollback_without_the_registry_they_came_from(registry, mirror, tmp_path):
    old = make_image(tmp_path, registry, NAME, "v1", "arm64", "one")
    amd = make_image(tmp_path, registry, NAME, "amd", "amd64", "one")
    index = registry.put(NAME, "v1", index_of(registry, NAME, arm64=old, amd64=amd))
    box = Box(tmp_path, f"{registry.host}/{NAME}:v1@{index}")
    before = box.file.read_text()
    mirrored = box.pitstop("mirror", "q")["mirrored"][0]
    assert mirrored["digest"] == index
    assert mirror.manifest(f"127.0.0.1-{UPSTREAM}/{NAME}", "v1") == registry.manifest(NAME, "v1")
    new = make_image(tmp_path, registry, NAME, "v2", "arm64", "two")
    assert box.pitstop("set", "q", ":v2", "--dry-run")["image"].endswith(new)
    assert box.file.read_text() == before
    box.pitstop("set", "q", ":v2")
    changed = box.file.read_text()
    assert f'image = "{registry.host}/{NAME}:v2@{new}"  # says where it came from' in changed
    assert changed.splitlines()[0] == "# a box"
    registry.stop()
    back = box.pitstop("rollback", "q", "--dry-run")
    assert back["digest"] == index
    assert back["image"] == f"{mirror.host}/127.0.0.1-{UPSTREAM}/{NAME}:v1@{index}"
    assert box.file.read_text() == changed
    history = box.pitstop("history", "q")["pins"]
    assert [one["action"] for one in history] == ["set", "found", "mirror"]
    assert history[0]["digest"] == new


def test_a_rollback_to_what_is_nowhere_is_refused(registry, tmp_path):
    old = make_image(tmp_path, registry, NAME, "v1", "arm64", "one")
    make_image(tmp_path, registry, NAME, "v2", "arm64", "two")
    box = Box(tmp_path, f"{registry.host}/{NAME}:v1@{old}")
    box.pitstop("set", "q", ":v2")
    text = box.file.read_text()
    box.pitstop("rollback", "q", code=2)
    assert box.file.read_text() == text


def test_a_rollback_fetches_the_copy_into_a_real_docker(registry, mirror, tmp_path):
    docker_engine.ensure()
    old = make_image(tmp_path, registry, NAME, "v1", "amd64", "one")
    make_image(tmp_path, registry, NAME, "v2", "amd64", "two")
    box = Box(tmp_path, f"{registry.host}/{NAME}:v1@{old}", "amd64")
    box.pitstop("mirror", "q")
    box.pitstop("set", "q", ":v2")
    registry.stop()
    copy = box.pitstop("rollback", "q")["image"]
    try:
        inspect = ["docker", "image", "inspect", copy]
        found = json.loads(subprocess.run(inspect, check=True, capture_output=True, timeout=60).stdout)
        assert any(digest.endswith(old) for digest in found[0]["RepoDigests"])
        assert copy in box.file.read_text()
        assert box.pitstop("history", "q")["pins"][0]["action"] == "rollback"
    finally:
        subprocess.run(["docker", "rmi", copy.replace(":v1@", "@")], check=False, capture_output=True, timeout=60)


async def test_skopeo_and_our_own_client_agree(registry, tmp_path):
    first = make_image(tmp_path, registry, NAME, "v1", "arm64", "one")
    both = registry.put(NAME, "multi", index_of(registry, NAME, arm64=first))
    reference = parse_reference(f"{registry.host}/{NAME}:v1")
    supply = Supply(Pins(), os.environ)
    for which in ("v1", "multi", first, both, "nothing"):
        async with supply.client() as client:
            own = await client.manifest(reference, which)
        other = await skopeo.ask(reference, which, environ=os.environ, deadline_s=30)
        assert type(own) is type(other)
        assert getattr(own, "digest", None) == getattr(other, "digest", None)
        assert getattr(own, "platform", None) == getattr(other, "platform", None)
