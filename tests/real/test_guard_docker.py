"""A real container, filled by a memory eater, killed by the guard through pidfds with the box alive."""

import json
import os
import subprocess
import sys
import time
import uuid

import pytest

from pitstop.engines.procfs import read_memory
from support import docker_engine

pytestmark = pytest.mark.real

MIB = 2**20
# Waits for the guard, then takes 40 MiB a twentieth of a second, up to 1.5 GiB, in a child of the first process.
EATER = """
import os, time
if os.fork() == 0:
    time.sleep(3)
    held = []
    for _ in range(38):
        held.append(bytearray(os.urandom(1024) * 40960))
        time.sleep(0.05)
time.sleep(120)
"""


def docker(*words):
    return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=120, check=False).stdout.strip()


@pytest.fixture
def containers():
    docker_engine.ensure()
    names = []

    def run(code, *options):
        name = f"pitstop-guard-{uuid.uuid4().hex[:8]}"
        names.append(name)
        started = docker(
            "run", "--detach", "--network", "none", "--name", name, *options, *docker_engine.mounts(),
            docker_engine.IMAGE, os.path.realpath(sys.executable), "-I", "-S", "-c", code,
        )  # fmt: skip
        assert started
        return name

    yield run
    docker("rm", "--force", *names)


def guard(folder, name, *options):
    floor_mib = (read_memory().available_bytes or 0) // MIB - 600
    argv = [sys.executable, "-m", "pitstop", "guard", "--container", name, "--min-available", f"{floor_mib}MiB"]
    return subprocess.run(
        [
            *argv,
            "--max-swap-growth",
            "100000MiB",
            "--for",
            "60s",
            "--log",
            str(folder / "rows.csv"),
            "--json",
            *options,
        ],
        env={**os.environ, "PITSTOP_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("policy", ["no", "always"])
def test_a_container_that_eats_memory_is_killed_and_its_policy_does_not_revive_it(tmp_path, containers, policy):
    eater = containers(EATER, "--restart", policy)
    bystander = containers("import time; time.sleep(120)")
    before = read_memory().available_bytes
    done = guard(tmp_path, eater)
    assert done.returncode == 5, done.stderr
    report = json.loads(done.stdout)
    assert report["cause"] in {"floor", "slope"}
    assert len(report["killed"]) == 2
    assert report["memory_back"] is True
    assert report["still_there"] == []
    assert report["reading_to_signal_ms"] > 0
    time.sleep(2)
    assert docker("inspect", "--format", "{{.State.Running}}", eater) == "false"
    assert docker("inspect", "--format", "{{.State.ExitCode}}", eater) == "137"
    assert docker("inspect", "--format", "{{.State.Running}}", bystander) == "true"
    assert read_memory().available_bytes > before - 700 * MIB
    assert "killed: " in (tmp_path / "rows.csv").read_text()
    (evidence,) = (tmp_path / "home/evidence").glob("*/guard.json")
    assert json.loads(evidence.read_text())["ring"]


def test_a_container_that_comes_up_later_is_owned_when_it_does(tmp_path, containers):
    name = f"pitstop-guard-later-{uuid.uuid4().hex[:8]}"
    floor_mib = (read_memory().available_bytes or 0) // MIB - 600
    argv = [sys.executable, "-m", "pitstop", "guard", "--container", name, "--min-available", f"{floor_mib}MiB"]
    process = subprocess.Popen(
        [*argv, "--for", "60s"],
        env={**os.environ, "PITSTOP_HOME": str(tmp_path / "home")},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert any("is not up" in line for line in iter(process.stderr.readline, ""))
        docker("rename", containers(EATER.replace("sleep(3)", "sleep(8)")), name)
        assert process.wait(60) == 5
    finally:
        process.kill()
        process.stderr.close()
        docker("rm", "--force", name)
