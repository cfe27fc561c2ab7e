"""Running other programs, under the loop that the command line uses and under Python's own."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest
import uvloop

from pitstop.launch import command
from pitstop.launch.command import CommandFailed, Failure

LOOPS = {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture(params=LOOPS)
def run(request):
    """`command.run` to its end in a loop of its own."""

    def running(*argv, timeout_s=60.0, cwd=""):
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(command.run(argv, environ={"PATH": os.environ["PATH"]}, timeout_s=timeout_s, cwd=cwd))

    return running


def test_both_streams_are_kept_apart_and_whole(run, tmp_path):
    text = "import os, sys; sys.stdout.write('ä' * 300_000); sys.stderr.write('end'); sys.stdout.write(os.getcwd())"
    done = run(sys.executable, "-c", text, cwd=str(tmp_path))
    assert (done.code, done.out, done.err) == (0, "ä" * 300_000 + str(tmp_path), "end")


@pytest.mark.parametrize("how", ["sleep 30 &", "(sleep 30 &) </dev/null", "setsid sleep 30 >/dev/null 2>&1 &"])
def test_what_a_program_leaves_running_is_not_waited_for(run, how, tmp_path):
    """Podman leaves a conmon for every container, with whatever descriptors it had inherited."""
    leaves = f"cd {tmp_path}; {how}\necho left"
    assert run("sh", "-c", leaves, timeout_s=20.0).out == "left\n"
    left = [path.parent for path in Path("/proc").glob("[0-9]*/cwd") if _link(path) == str(tmp_path)]
    assert left
    for process in left:
        os.kill(int(process.name), 9)


def _link(path):
    try:
        return str(path.readlink())
    except OSError:
        return ""


def test_what_takes_too_long_is_killed_with_all_that_it_started(run, tmp_path):
    with pytest.raises(CommandFailed) as caught:
        run("sh", "-c", f"cd {tmp_path}; sleep 60 & sleep 60", timeout_s=0.3)
    assert caught.value.failure is Failure.TIMED_OUT
    until = time.monotonic() + 20
    while any(_link(path) == str(tmp_path) for path in Path("/proc").glob("[0-9]*/cwd")):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("argv", "failure", "said"),
    [
        (("no-such-program-here",), Failure.MISSING, ""),
        (("sh", "-c", "echo Error: No such container: x >&2; exit 1"), Failure.NOT_FOUND, "No such container: x"),
        (("sh", "-c", "echo only this; exit 3"), Failure.REFUSED, "only this"),
        (("/",), Failure.FORBIDDEN, ""),
    ],
)
def test_a_failure_has_a_kind_and_what_was_said(run, argv, failure, said):
    with pytest.raises(CommandFailed) as caught:
        run(*argv)
    assert caught.value.failure is failure
    assert said in caught.value.said


def test_no_descriptor_is_left_open(run):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        run("true")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
