"""Probes of ours are counted by whoever sends them, so that nobody takes them for service."""

import contextlib
import os
import subprocess
import sys

import msgspec

from pitstop.core.home import Home
from pitstop.core.process_id import own_id
from pitstop.services.own_requests import OwnRequests, own_request, own_requests


def test_a_request_is_on_its_way_and_then_over_with_its_tokens(tmp_path):
    home = Home(tmp_path)
    with own_request(home, "smol") as spent:
        assert own_requests(home, "smol") == OwnRequests(0, 0, (own_id(),))
        spent(17)
    assert own_requests(home, "smol") == OwnRequests(1, 17, ())
    assert own_requests(home, "other") == OwnRequests()


def test_one_that_failed_is_over_all_the_same(tmp_path):
    home = Home(tmp_path)
    with contextlib.suppress(OSError), own_request(home, "smol"):
        raise OSError
    assert own_requests(home, "smol").finished == 1


def test_a_request_whose_process_was_killed_is_over(tmp_path):
    home = Home(tmp_path)
    code = (
        "import os, sys; from pathlib import Path; from pitstop.core.home import Home\n"
        "from pitstop.services.own_requests import own_request\n"
        "with own_request(Home(Path(sys.argv[1])), 'smol'): os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, env=os.environ, timeout=60)
    assert killed.returncode == -9
    assert own_requests(home, "smol") == OwnRequests(1, 0, ())


def test_several_at_once_are_each_counted(tmp_path):
    home = Home(tmp_path)
    with own_request(home, "smol") as one, own_request(home, "smol") as two:
        one(1)
        two(2)
        assert len(own_requests(home, "smol").on_their_way) == 2
    assert own_requests(home, "smol") == OwnRequests(2, 3, ())


def test_a_torn_file_begins_anew_and_a_place_that_cannot_be_written_costs_nothing(tmp_path):
    home = Home(tmp_path)
    with own_request(home, "smol"):
        pass
    (tmp_path / "own/smol.json").write_bytes(msgspec.json.encode(OwnRequests(3))[:5])
    assert own_requests(home, "smol") == OwnRequests()
    blocked = Home(tmp_path / "file")
    (tmp_path / "file").write_text("")
    with own_request(blocked, "smol") as spent:
        spent(1)
    assert own_requests(blocked, "smol") == OwnRequests()
