"""A container engine that answers strangely, or whose client is killed: nobody's result, and told as what it is."""

import sys

import pytest

from pitstop.core.errors import EngineFailed
from pitstop.launch.command import CommandFailed, Failure
from pitstop.launch.container_engine import ContainerEngine
from pitstop.launch.docker import _could_not_start
from pitstop.launch.plan import plan
from support.trial_world import ENGINE

STRANGE = ["", "null", "[null]", "[{}]", '[{"Id": 7, "RepoDigests": null}]', '[{"Id": "a", "RepoDigests": 7}]', "[{"]


def docker(folder, script):
    program = folder / "docker"
    program.write_text(f"#!{sys.executable} -IS\n{script}\n")
    program.chmod(0o755)
    return ContainerEngine(str(program), {"PATH": "/usr/bin:/bin"})


@pytest.mark.parametrize("answer", STRANGE)
async def test_a_strange_answer_is_no_defect_and_no_result(tmp_path, answer):
    engine = docker(tmp_path, f"print({answer!r})")
    for asked in (engine.image, engine.inspect):
        with pytest.raises(CommandFailed, match="answered what is not understood") as failed:
            await asked("smol")
        assert failed.value.failure is Failure.NOT_UNDERSTOOD


async def test_a_client_that_is_killed_in_the_middle_is_told_from_one_that_says_no(tmp_path):
    engine = docker(tmp_path, "import os, signal; print('0a1b', flush=True); os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(CommandFailed, match="was killed by signal 9") as failed:
        await engine.run([engine.binary, "run", "--detach", "smol"], {})
    assert failed.value.failure is Failure.KILLED


@pytest.mark.parametrize(("failure", "nobodys_fault"), [(Failure.KILLED, True), (Failure.REFUSED, False)])
def test_which_failures_to_start_are_held_against_the_engine(tmp_path, failure, nobodys_fault):
    spec = plan("smol", ENGINE, environ={"PATH": "/bin"})
    failed = CommandFailed(failure, ["docker", "run"], "", code=-9)
    raised = _could_not_start(spec, ContainerEngine("docker", {}), failed)
    assert isinstance(raised, EngineFailed) != nobodys_fault


UP_UNTIL_KILLED = """
import json, pathlib, sys
world = pathlib.Path(__file__).with_name("down")
match sys.argv[1:]:
    case ["stop", *_]:
        {when_stopped}
        sys.exit(137)
    case ["kill", name] if world.exists():
        sys.exit(print(f"Cannot kill container: {{name}}: Container {{name}} is not running", file=sys.stderr) or 1)
    case ["kill", name]:
        {when_killed}
    case ["container", "inspect", name]:
        state = {{"Running": not world.exists(), "Pid": 0 if world.exists() else 7}}
        print(json.dumps([{{"Id": name, "Name": "/smol", "State": state}}]))
"""
ENDS, REFUSES = "world.touch()", "sys.exit(print('permission denied', file=sys.stderr) or 1)"


@pytest.mark.parametrize(("when_stopped", "when_killed"), [(ENDS, REFUSES), ("pass", ENDS)])
async def test_a_stop_that_nobody_heard_of_is_a_stop(tmp_path, when_stopped, when_killed):
    engine = docker(tmp_path, UP_UNTIL_KILLED.format(when_stopped=when_stopped, when_killed=when_killed))
    await engine.stop("smol", 1.0)
    assert (tmp_path / "down").exists()


async def test_a_container_that_neither_stops_nor_can_be_killed_is_told(tmp_path):
    engine = docker(tmp_path, UP_UNTIL_KILLED.format(when_stopped="pass", when_killed=REFUSES))
    with pytest.raises(CommandFailed, match="permission denied"):
        await engine.stop("smol", 1.0)


async def test_a_removal_whose_client_was_killed_is_tried_again(tmp_path):
    killed_once = "import os, pathlib\nonce = pathlib.Path(__file__).with_name('once')\n"
    killed_once += "if not once.exists():\n    once.touch()\n    os.kill(os.getpid(), 9)"
    await docker(tmp_path, killed_once).remove("smol")
    assert (tmp_path / "once").exists()
