import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pitstop.cli.streams import Steady

FULL = Path("/dev/full")
assert FULL.is_char_device(), "somebody has put a file in the place of /dev/full"


@pytest.fixture
def pitstop(tmp_path):
    def run(*argv, shell="", stdout=subprocess.PIPE, **env):
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PITSTOP_HOME": str(tmp_path / "state"), **env}
        command = [sys.executable, "-m", "pitstop", *argv]
        wrapped = ["sh", "-c", f'"$@" {shell}', "sh", *command] if shell else command
        return subprocess.run(
            wrapped, cwd=tmp_path, env=environ, stdout=stdout, stderr=subprocess.PIPE, timeout=30, check=False
        )

    return run


@pytest.mark.parametrize("argv", [("config", "schema"), ("trial", "status"), ("trial", "status", "--json")])
def test_output_that_a_full_disk_swallowed_is_told(pitstop, argv):
    with FULL.open("wb") as full:
        done = pitstop(*argv, stdout=full)
    assert done.returncode == 2
    assert b"could not be written: No space left" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("argv", [("config", "schema"), ("trial", "status"), ("--help",)])
def test_a_reader_who_has_enough_changes_no_exit_code(pitstop, argv):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = pitstop(*argv, stdout=gone)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_it_runs_with_descriptors_closed(pitstop, closed):
    assert pitstop("trial", "recover", shell=closed).returncode == 0


def test_letters_that_the_locale_lacks_are_shown_as_codes(pitstop):
    done = pitstop("doctor", PYTHONIOENCODING="ascii")
    assert b"\\u2713 state folder" in done.stdout


def test_after_the_first_failure_everything_is_dropped_and_the_first_reason_kept():
    with FULL.open("wb") as full:
        steady = Steady(full.fileno())
        assert (steady.write(b"one"), steady.write(b"more")) == (3, 4)
    assert "No space left" in steady.lost


def test_a_pipe_that_does_not_block_is_waited_for():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text, got = b"x" * 300_000, bytearray()

    def read():
        while len(got) < len(text) and (part := os.read(reader, 65536)):
            got.extend(part)

    taking = threading.Thread(target=read)
    taking.start()
    steady, rest = Steady(writer), memoryview(text)
    while rest:
        rest = rest[steady.write(rest) :]
    taking.join(10)
    os.close(reader)
    os.close(writer)
    assert (bytes(got), steady.broken) == (text, None)
