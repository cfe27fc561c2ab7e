"""`up` is stopped in the middle: what it started is gone, what was up before stays."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from pitstop.core.home import Home
from pitstop.launch import record
from pitstop.services.demo import free_port
from pitstop.services.lease import read_lease

TINY = Path(__file__).parents[1] / "support/tiny_engine.py"
CONFIG = """
[engine.tiny]
kind = "openai"
model = "tiny"
base_url = "http://127.0.0.1:{port}/v1"
production = true
boot_timeout = "60 s"
stop_timeout = "5 s"
[engine.tiny.launch]
with = "process"
command = ["{{python}}", "{tiny}", "{{port}}", "mute", "child"]
"""


@pytest.fixture
def home(tmp_path):
    (tmp_path / "pitstop.toml").write_text(CONFIG.format(port=free_port(), tiny=TINY))
    home = Home(tmp_path / "state")
    yield home
    for one in engine_processes(home):
        one.kill()


@contextmanager
def booting(home):
    """`pitstop up` of an engine that never gets ready, as far as that engine's process."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.root), "PITSTOP_HOME": str(home.root)}
    command = [sys.executable, "-m", "pitstop", "up"]
    with subprocess.Popen(
        command, cwd=home.root.parent, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as up:
        try:
            until(lambda: read_lease(home) is not None and len(engine_processes(home)) == 2)
            yield up
        finally:
            up.kill()


def engine_processes(home):
    """The tiny engine of this home, and its child."""
    found = []
    for one in psutil.process_iter(["cmdline", "environ", "status"]):
        mine = str(home.root.resolve()) in str(one.info["environ"] or "") and str(TINY) in (one.info["cmdline"] or [])
        if mine and one.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(one)
    return found


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_during_the_boot_it_leaves_no_engine_and_no_lease(home, number):
    with booting(home) as up:
        up.send_signal(number)
        said, _ = up.communicate(timeout=30)
    assert up.returncode == 130
    assert "Interrupted" in said
    assert "Traceback" not in said
    assert engine_processes(home) == []
    assert read_lease(home) is None


def test_an_engine_that_was_up_before_is_not_taken_down_with_the_wait(home):
    with booting(home) as first:
        first.kill()
    before = {one.pid for one in engine_processes(home)}
    with booting(home) as second:
        until(lambda: read_lease(home).holder.pid == second.pid)
        second.send_signal(signal.SIGTERM)
        second.wait(30)
    assert {one.pid for one in engine_processes(home)} == before
    noted = record.read(home, "tiny")
    assert noted is not None
    assert noted.pid in before
    assert msgspec.to_builtins(noted)["state"] == "started"
