"""A trial whose promise cannot be read: told, counted as owed, with what a person can do; it hides no other trial."""

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def pitstop(tmp_path):
    junk = tmp_path / "state/trials/20260101-junk"
    junk.mkdir(parents=True)
    (junk / "promise.json").write_text("{")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PITSTOP_HOME": str(tmp_path / "state")}

    def run(*argv):
        command = [sys.executable, "-m", "pitstop", *argv, "--json"]
        return subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=30, check=False
        )

    return run


def test_status_tells_it(pitstop):
    done = pitstop("trial", "status")
    [one] = json.loads(done.stdout)["open"]
    assert (done.returncode, one["id"], one["owes_restore"], one["boots"]) == (0, "20260101-junk", True, None)
    assert "cannot be read" in one["step"]


def test_recover_says_that_a_person_is_needed_and_for_what(pitstop):
    done = pitstop("trial", "recover")
    assert done.returncode == 6
    assert list(json.loads(done.stdout)["failed"]) == ["20260101-junk"]
    assert "see that production is up" in done.stderr
    assert "Traceback" not in done.stderr
