"""Hostile code in the real sandboxes: whatever it tries, it is not right, and the host is as it was."""

import asyncio
import os
import subprocess
from pathlib import Path
from time import monotonic

import msgspec
import pytest

from pitstop.core.config.quality import Sandbox
from pitstop.core.units import Duration
from pitstop.rulers.quality.hidden_tests import mark_code
from pitstop.rulers.quality.keys import CodeKey, Expected
from pitstop.rulers.quality.sandbox import Box, find_sandbox
from support.sandboxes import docker_sandbox

pytestmark = pytest.mark.real
KEY = CodeKey("f", ((2,), (5,)), (Expected(20), Expected(50)))

_TOLD = Path(__file__).with_name("attacks.txt").read_text("utf-8")
ATTACKS = {name.strip(): code for name, _, code in (part.partition("\n") for part in _TOLD.split("\n=== ")[1:])}


@pytest.fixture(autouse=True)
def _a_key(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "hush-hush")


@pytest.fixture(scope="module", params=["docker", "bubblewrap"])
def box(request):
    settings = docker_sandbox() if request.param == "docker" else Sandbox(use="bubblewrap")
    found = asyncio.run(find_sandbox(msgspec.structs.replace(settings, time_limit=Duration(2), memory_mib=256)))
    assert isinstance(found, Box), found
    return found


@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_attack_is_not_right_and_leaves_nothing(box, attack):
    async with asyncio.timeout(300):  # it ends by itself; how soon is no question for a busy machine
        mark = await mark_code(KEY, f"```python\n{ATTACKS[attack]}\n```", box)
    assert not mark.right, mark
    assert mark.reason
    assert not _escaped()
    assert not _left_over()


async def test_right_code_is_right_whatever_it_prints(box):
    good = "import sys\nprint('OK passed 0 of 2')\ndef f(n):\n    print(n, file=sys.stderr)\n    return n * 10"
    assert (await mark_code(KEY, f"```python\n{good}\n```", box)).right


async def test_an_error_that_is_expected_is_right(box):
    key = CodeKey("f", ((-1,), (1,)), (Expected(error="ValueError"), Expected([1, 2])))
    code = "class Mine(ValueError): pass\ndef f(n):\n    if n < 0: raise Mine\n    return (1, 2)"
    assert (await mark_code(key, f"```python\n{code}\n```", box)).right


async def test_a_cancelled_run_leaves_no_container(box):
    running = asyncio.create_task(box.run("import time\ndef f(n): time.sleep(60)", "f", [[1]]))
    await asyncio.sleep(1.0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not _left_over()


def _escaped() -> list[Path]:
    return [found for folder in ("/tmp", "/dev/shm", "/", "/dev") for found in Path(folder).glob("pitstop-escaped*")]


def _left_over() -> list[str]:
    """Containers and processes of ours; the container of a finished run is removed by Docker itself, a moment later."""
    until = monotonic() + 20
    while monotonic() < until and (found := _containers() + _nobodys()):
        pass
    return found


def _containers() -> list[str]:
    listed = subprocess.run(
        ["docker", "ps", "--all", "--filter", "name=pitstop-quality-", "--format", "{{.Names}}"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return listed.stdout.split()


def _nobodys() -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            if folder.stat().st_uid == 65534 and b"RLIMIT_NPROC" in command and int(folder.name) != os.getpid():
                found.append(folder.name)
        except OSError:
            continue
    return found
