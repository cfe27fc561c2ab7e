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


def test_a_single_look_of_the_watchdog_that_cannot_finish_the_restore_says_so(pitstop, tmp_path):
    (tmp_path / "pitstop.toml").write_text(
        '[engine.smol]\nkind = "llamacpp"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\nproduction = true\n'
        '[engine.smol.launch]\nwith = "process"\ncommand = ["true"]\n'
    )
    gone = {"pid": 2**22 + 1, "start_ticks": 1, "boot_id": "of another boot"}
    lease = {"token": "t", "purpose": "trial", "holder": gone, "engines": ["smol"], "trial": "20260101-junk"}
    lease |= {"acquired_at_s": 1.0, "expires_at_s": 2.0}
    (tmp_path / "state/lease.json").write_text(json.dumps(lease))
    done = pitstop("watch", "--once")
    assert "the restore could not be finished" in done.stderr
    assert done.returncode == 6
