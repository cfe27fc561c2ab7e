"""The main job by hand, on real llama.cpp: killed, interrupted, refused; production is back each time."""

import json
import os
import signal
import socket
import time

import pytest

from support.box import Box

pytestmark = pytest.mark.xdist_group("embedded")


@pytest.fixture
def box(tmp_path):
    box = Box.make(tmp_path)
    up = box.run("up", "--json")
    assert up.returncode == 0, up.stderr
    yield box
    box.run("trial", "recover")
    box.run("down")


def production(box):
    [engine] = json.loads(box.run("status", "--json").stdout)["engines"]
    assert engine["readiness"] == "ready", engine
    return engine["running"]["fingerprint"]


def wait_for_line(process, words, timeout_s=60):
    """Read the live view until it says so; what it said is returned for the assertion's message."""
    deadline, said = time.monotonic() + timeout_s, []
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        if not line:
            break
        said.append(line)
        if words in line:
            return said
    raise AssertionError(f"never said {words!r}: {''.join(said)}")


def test_a_trial_ends_with_a_verdict_and_production_back(box):
    before = production(box)
    done = box.run("trial", "run", "quick", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 4  # one boot per arm and no knowledge of this box's noise: undecided
    assert {record["verdict"] for record in document["verdicts"]} == {"undecided"}
    assert document["production"]["restored"]
    assert document["production"]["fingerprint_after"] == before == production(box)
    assert [figure["status"] for arm in document["arms"] for run in arm["runs"] for figure in run["figures"]]
    assert document["id"] in box.run("trial", "list").stdout
    page = box.root / "report.html"
    assert box.run("report", document["id"], "--html", str(page)).returncode == 0
    assert "<svg" in page.read_text()


def test_killed_in_the_middle_of_a_variant_recover_brings_back_what_was_there(box):
    before = production(box)
    trial = box.begin("trial", "run", "quick")
    wait_for_line(trial, "measuring small")
    os.kill(trial.pid, signal.SIGKILL)
    trial.communicate(timeout=10)

    refused = box.run("trial", "run", "quick")
    assert refused.returncode in (2, 6)
    assert "trial recover" in refused.stderr
    assert box.run("down").returncode == 2

    recovered = box.run("trial", "recover", "--json")
    assert recovered.returncode == 0, recovered.stderr
    [document] = json.loads(recovered.stdout)["recovered"]
    assert document["production"]["restored"]
    assert document["production"]["fingerprint_after"] == before == production(box)
    assert "generated" in document["production"]["proved_by"]
    assert box.run("trial", "recover").returncode == 0  # nothing is owed any more


def test_sigterm_twice_100_ms_apart_restores_first(box):
    before = production(box)
    trial = box.begin("trial", "run", "quick")
    wait_for_line(trial, "measuring small")
    os.kill(trial.pid, signal.SIGTERM)
    time.sleep(0.1)  # the case itself: the second signal falls into the restore
    os.kill(trial.pid, signal.SIGTERM)
    said = trial.communicate(timeout=90)[0]
    assert trial.returncode == 130, said
    assert production(box) == before


def test_a_variant_that_dies_at_boot_is_told_with_its_log_and_production_is_back(box):
    before = production(box)
    done = box.run("trial", "run", "broken", "--json")
    document = json.loads(done.stdout)
    [incident] = document["arms"][1]["incidents"]
    assert "--no-such-option" in incident["reason"]
    assert production(box) == before


def test_two_trials_at_once_are_one_too_many(box):
    trial = box.begin("trial", "run", "quick")
    wait_for_line(trial, "booting production")
    second = box.run("trial", "run", "quick")
    assert second.returncode == 2
    assert "lease is held" in second.stderr
    lease = json.loads((box.root / "state/lease.json").read_text())
    # By the steady clock: a wall clock that is set ahead must not make a live trial look stalled.
    assert 0 < lease["expires_at_s"] - time.monotonic() <= 60
    trial.communicate(timeout=120)


def test_a_port_that_somebody_else_holds_is_found_before_anything_is_touched(box):
    assert box.run("down").returncode == 0
    port = next(line for line in (box.root / "pitstop.toml").read_text().splitlines() if "base_url" in line)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", int(port.rsplit(":", 1)[1].split("/")[0])))
        taken.listen()
        refused = box.run("up")
        assert refused.returncode == 2
        assert str(os.getpid()) in refused.stderr


def test_a_trial_whose_reader_goes_away_ends_as_any_other(box):
    before = production(box)
    trial = box.begin("trial", "run", "quick")
    wait_for_line(trial, "waiting until production is idle")
    trial.stdout.close()  # as in `pitstop trial run quick 2>&1 | head -1`
    assert trial.wait(120) == 4
    assert production(box) == before
