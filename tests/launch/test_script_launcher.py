import asyncio
import os
import subprocess
import sys

import msgspec
import pytest

from pitstop.core.config.load import parse
from pitstop.core.errors import EngineFailed
from pitstop.core.home import Home
from pitstop.launch import proc, script, scripts_engine
from pitstop.launch.launcher import OBSERVED
from pitstop.launch.plan import plan
from support.embedded import free_port
from support.launch_contract import ENVIRON, TINY, Bench, LauncherContract, cleaned, is_alive, listening, until

PORT = free_port()
START = """#!/bin/sh
# The user's own launcher: defaults are production, the environment overrides them.
cd "$(dirname "$0")" || exit 1
if [ "$HOW" = broken ]; then echo "no such model" >&2; exit 4; fi
setsid {python} -I -S {tiny} {port} ${{HOW:-plain}} $(cat flags) &
echo $! > engine.pid
"""
CONFIG = """
[engine.tiny]
kind = "openai"
model = "tiny"
base_url = "http://127.0.0.1:{port}/v1"
stop_timeout = "500 ms"
[engine.tiny.launch]
with = "script"
start = ["{folder}/start.sh"]
{pidfile}
env = {{ TINY_API_KEY = "${{TINY_API_KEY}}" }}
[engine.tiny.knob.HOW]
env = "HOW"
"""


def prepare(folder, pidfile: str) -> Bench:
    path = folder / "start.sh"
    path.write_text(START.format(python=sys.executable, tiny=TINY, port=PORT))
    path.chmod(0o755)
    (folder / "flags").write_text("hardened")
    engine = parse(CONFIG.format(port=PORT, folder=folder, pidfile=pidfile)).engine["tiny"]
    knobs = ({}, {"HOW": "variant"}, {"HOW": "die=7"}, {"HOW": "mute"})
    specs = [plan("tiny", engine, one, environ=ENVIRON) for one in knobs]
    return Bench(Home(folder / "home").prepared(), *specs)


@pytest.fixture(params=["pidfile", "mark"])
async def bench(tmp_path, request, monkeypatch):
    """Found by its pidfile, or, where the user named none, by the mark."""
    monkeypatch.setattr(script, "_AFTER_ITS_END_S", 1.0)
    pidfile = f'pidfile = "{tmp_path}/engine.pid"' if request.param == "pidfile" else ""
    async with cleaned(prepare(tmp_path, pidfile)) as bench:
        yield bench


@pytest.fixture
async def with_pidfile(tmp_path, monkeypatch):
    monkeypatch.setattr(scripts_engine, "SETTLED_S", scripts_engine.SETTLED_S)  # `started` changes it
    async with cleaned(prepare(tmp_path, f'pidfile = "{tmp_path}/engine.pid"')) as bench:
        yield bench


class TestScriptLauncher(LauncherContract):
    knows_exit_code = False


async def test_a_script_that_fails_says_why(bench: Bench):
    broken = msgspec.structs.replace(bench.spec, env={"HOW": "broken"})
    with pytest.raises(EngineFailed, match="ended with exit code 4") as caught:
        await bench.launcher.start(broken, ENVIRON)
    assert "no such model" in caught.value.hint


async def test_a_missing_script_is_told_before_anything_is_stopped(bench: Bench):
    gone = msgspec.structs.replace(bench.spec, argv=("/no/such/start.sh",))
    assert "is not an executable program" in await bench.launcher.recreatable(gone)


async def test_a_restart_that_drops_a_flag_is_not_what_was_before(with_pidfile: Bench, tmp_path):
    bench = with_pidfile
    await started(bench, bench.spec)
    assert (await bench.launcher.inspect(bench.spec)).fingerprint == bench.spec.fingerprint
    await bench.launcher.stop(bench.spec)
    (tmp_path / "flags").write_text("")  # read by the script, whose own text stays the same
    await started(bench, bench.spec)
    assert (await bench.launcher.inspect(bench.spec)).fingerprint.startswith(OBSERVED)
    assert "not what its script was seen to start" in await bench.launcher.recreatable(bench.spec)


async def test_an_edited_script_is_a_persons_act_and_binds_anew(with_pidfile: Bench, tmp_path):
    bench = with_pidfile
    await started(bench, bench.spec)
    await bench.launcher.inspect(bench.spec)
    await bench.launcher.stop(bench.spec)
    path = tmp_path / "start.sh"
    path.write_text(path.read_text().replace("plain", "simple"))
    await started(bench, bench.spec)
    assert (await bench.launcher.inspect(bench.spec)).fingerprint == bench.spec.fingerprint


async def test_a_relaunch_by_somebody_else_is_production_and_not_the_variant(with_pidfile: Bench, tmp_path):
    bench = with_pidfile
    await started(bench, bench.spec)
    await bench.launcher.inspect(bench.spec)
    await bench.launcher.stop(bench.spec)
    await started(bench, bench.variant)
    assert (await bench.launcher.inspect(bench.variant)).fingerprint == bench.variant.fingerprint
    os.kill((await bench.launcher.inspect(bench.variant)).pid, 9)
    # A watchdog of the user's own restarts production with its defaults, without pitstop.
    plain = {key: value for key, value in ENVIRON.items() if not key.startswith("PITSTOP")}
    await asyncio.to_thread(subprocess.run, [tmp_path / "start.sh"], env=plain, check=True, timeout=10)
    await until(lambda: _is_tiny(bench))
    assert (await bench.launcher.inspect(bench.variant)).fingerprint == bench.spec.fingerprint


async def started(bench: Bench, spec) -> None:
    """Start, wait until the shell has become the engine, and let it count as settled."""
    scripts_engine.SETTLED_S = 60.0
    await bench.launcher.start(spec, ENVIRON)
    await until(lambda: _is_tiny(bench))
    scripts_engine.SETTLED_S = -10.0


async def _is_tiny(bench: Bench) -> bool:
    pid = int((bench.home.root.parent / "engine.pid").read_text())
    return proc.arguments(pid)[:1] == [sys.executable]  # no longer the shell, nor setsid


async def test_a_pidfile_of_another_process_is_not_believed(with_pidfile: Bench, tmp_path):
    bench = with_pidfile
    pidfile = tmp_path / "engine.pid"
    pidfile.write_text(f"{os.getpid()}\n")
    os.utime(pidfile, (1, 1))  # written long before this process existed
    assert await bench.launcher.inspect(bench.spec) is None
    for text in ("", "x", "-1", "99999999999", "0"):
        pidfile.write_text(text)
        assert await bench.launcher.inspect(bench.spec) is None


async def test_the_stop_script_is_called_and_its_failure_does_not_leave_the_engine_up(bench: Bench, tmp_path):
    stop = tmp_path / "stop.sh"
    stop.write_text(f"#!/bin/sh\ntouch {tmp_path}/called\nexit 3\n")
    stop.chmod(0o755)
    spec = msgspec.structs.replace(bench.spec, stop_argv=(str(stop),))
    started = await bench.launcher.start(spec, ENVIRON)
    await listening(PORT)
    await bench.launcher.stop(spec)
    assert (tmp_path / "called").exists()
    assert not is_alive(started.pid)
