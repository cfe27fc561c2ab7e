"""The main job on real Podman: the guard owns Podman's containers too, and production comes back as it was."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pitstop.launch.memory_back import read_memory
from pitstop.supply.model import cache_folder, embedded_model
from support import docker_engine, podman
from support.docker_box import Begun, box_of, generated, trials

pytestmark = pytest.mark.real
PORT, NAME = 31060, "pitstop-trial-31060"
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
with = "docker"
binary = "podman"
name = "{name}"
image = "{image}"
run = {run}
command = {command}
env = {{ PYTHONPATH = "{path}", EAT = "0" }}
[engine.smol.knob.EAT]
env = "EAT"
[trial.quick]
engine = "smol"
rulers = ["decode"]
cases = ["prose/en/think-off"]
thinking = ["off"]
boots = 1
runs = 1
max_tokens = 8
idle_for = "0 s"
memory_timeout = "30 s"
guard = {{ min_available = "{floor}" }}
[trial.quick.variant.heavy]
EAT = "{eat}"
"""


def box_with(root: Path, *, floor: int, eat_mib: int):
    """Production under Podman, and a variant that takes that much more memory."""
    podman.ensure()
    root.mkdir()
    model = embedded_model(cache_folder(os.environ))
    run = ["--network", "host", *podman.LIMITS, *docker_engine.mounts(), "-v", f"{model.parent}:{model.parent}:ro"]
    words = [os.path.realpath(sys.executable), "-c", SERVER, "llamacpp_server", "--model", str(model)]
    words += ["--port", str(PORT), "--alias", "smollm2", "--ctx", "1024", "--threads", "1"]
    packages = next(Path(sys.prefix).glob("lib/python3*/site-packages"))
    text = BOX.format(
        port=PORT, name=NAME, image=podman.image(root), run=json.dumps(run), command=json.dumps(words),
        path=f"{packages}:{Path(__file__).parents[2] / 'src'}", floor=f"{floor} B", eat=eat_mib,
    )  # fmt: skip
    box = box_of(root, text)
    box.environ.update(podman.environ(root))
    return box


@pytest.fixture
def quick(tmp_path, request):
    eat_mib = getattr(request, "param", 1)
    floor = (read_memory().available_bytes or 0) - 2 * GIB if eat_mib > 1 else 100 * 2**20
    box = box_with(tmp_path / "box", floor=floor, eat_mib=eat_mib)
    remove(box)
    up = box.run("up", timeout=180)
    assert up.returncode == 0, up.stderr
    yield box
    box.run("trial", "recover", timeout=180)
    box.run("down")
    remove(box)


def remove(box):
    words = ["podman", "rm", "--force", "--ignore", NAME]
    subprocess.run(words, check=True, capture_output=True, timeout=60, env={**os.environ, **box.environ})


def of_podman(box, *words):
    done = subprocess.run(
        ["podman", *words], check=True, capture_output=True, text=True, timeout=60, env={**os.environ, **box.environ}
    )
    return done.stdout.strip()


def is_back(box):
    assert of_podman(box, "container", "inspect", "--format", "{{.State.Running}}", NAME) == "true"
    assert generated(PORT, "smollm2")
    assert json.loads(box.run("status", "--json").stdout)["owed"] == []
    assert of_podman(box, "ps", "--all", "--quiet", "--filter", "label=pitstop.keeps-images-of=smol") == ""


def test_a_whole_trial_under_the_guard(quick):
    done = quick.run("trial", "run", "quick", "--json", timeout=300)
    document = json.loads(done.stdout)
    assert document["state"] == "finished", done.stderr
    assert [len(arm["runs"]) for arm in document["arms"]] == [1, 1]
    log = (quick.root / "state/logs/guard-smol.log").read_text()
    assert log.count("owns container") >= 2, log
    is_back(quick)


@pytest.mark.parametrize("quick", [4000], indirect=True)
def test_a_variant_that_takes_too_much_is_killed_and_that_is_its_result(quick):
    done = quick.run("trial", "run", "quick", "--json", timeout=300)
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    [incident] = document["arms"][1]["incidents"]
    assert "memory guard" in incident["reason"], done.stderr
    assert document["production"]["restored"]
    is_back(quick)


def test_killed_while_a_variant_is_measured_the_next_one_puts_production_back(quick):
    trial = Begun(quick, "trial", "run", "quick")
    trial.wait_for(
        lambda lines: sum(line["kind"] == "begun" and line["action"]["do"] == "measure" for line in lines) > 1
    )
    trial.kill()
    recovered = quick.run("trial", "recover", timeout=180)
    assert recovered.returncode == 0, recovered.stderr
    assert trials(quick)
    is_back(quick)
