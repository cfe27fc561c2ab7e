import os
import stat
import time

import pytest

from pitstop.services.guard import asking

ID = "ab" * 32


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """A `docker` that does what a test writes into it."""

    def write(script):
        path = tmp_path / "docker"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return write


def ended(command):
    until = time.monotonic() + 5
    while not command.poll() and time.monotonic() < until:
        time.sleep(0.005)
    command.close()
    return command


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"echo {ID} 42", (ID, 42)),
        (f"echo WARNING: no swap limit >&2; echo {ID} 42", (ID, 42)),
        (f"echo {ID} 0", None),
        ("echo No such container >&2; exit 1", None),
        (f"echo {ID} 42; exit 1", None),
        ("echo short 42", None),
        ("", None),
    ],
)
def test_a_running_container_is_an_id_and_a_pid(docker, script, expected):
    docker(script)
    assert asking.answer(ended(asking.inspect("docker", "x"))) == expected


def test_a_program_that_is_not_there_is_an_answer():
    command = ended(asking.inspect("no-such-docker", "x"))
    assert command.exit_code == 127
    assert "no-such-docker" in command.words


def test_asking_a_daemon_that_hangs_takes_no_time(docker):
    docker("exec sleep 60")
    before = time.monotonic()
    command = asking.inspect("docker", "x")
    assert not command.poll()
    assert time.monotonic() - before < 1.0
    os.kill(command._pid, 9)
    assert ended(command).exit_code == -9


def test_a_daemon_that_never_answers_is_given_up(docker, monkeypatch):
    monkeypatch.setattr(asking, "_GIVE_UP_S", 0.05)
    docker("exec sleep 60")
    command = ended(asking.inspect("docker", "x"))
    assert command.exit_code == -9
    assert "did not answer in time" in command.words
