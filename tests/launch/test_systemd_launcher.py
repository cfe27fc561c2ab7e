import json
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from pitstop.core.config.engine import Engine, Knob, SystemdLaunch
from pitstop.core.home import Home
from pitstop.launch import cgroup, proc
from pitstop.launch.command import CommandFailed
from pitstop.launch.plan import plan
from pitstop.launch.systemd import SystemdLauncher
from support.embedded import free_port
from support.launch_contract import ENVIRON, SECRET, Bench, LauncherContract, tiny

PORT = free_port()
FAKE = Path(__file__).parents[1] / "support" / "fake_systemctl.py"


@dataclass
class UnitBench(Bench):
    run: Path = Path()

    @property
    def launcher(self) -> SystemdLauncher:
        return SystemdLauncher(self.home, self.run)


@pytest.fixture
async def bench(tmp_path, monkeypatch):
    """One unit of a strict fake manager, which really runs what the unit says."""
    binary = tmp_path / "bin" / "systemctl"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\nFAKE_SYSTEMD={tmp_path} exec {sys.executable} -I -S {FAKE} "$@"\n')
    binary.chmod(0o755)
    (tmp_path / "bin" / "journalctl").write_text(f"#!/bin/sh\nexec cat {tmp_path}/journal\n")
    (tmp_path / "bin" / "journalctl").chmod(0o755)
    (tmp_path / "exec").write_text(json.dumps([*tiny(PORT), "$HOW"]))
    # The fake has no control groups: what its unit started is what is in its session.
    monkeypatch.setattr(cgroup, "processes_of", lambda _unit: _in_session(tmp_path))
    environ = {**ENVIRON, "PATH": f"{tmp_path}/bin:{ENVIRON['PATH']}"}
    engine = Engine(
        kind="openai",
        model="tiny",
        base_url=f"http://127.0.0.1:{PORT}/v1",
        launch=SystemdLaunch(unit="tiny.service", env={"TINY_API_KEY": "${TINY_API_KEY}"}),
        knob={"HOW": Knob(default="plain", env="HOW")},
    )
    hows = ({}, {"HOW": "variant"}, {"HOW": "die=7"}, {"HOW": "mute"})
    specs = [plan("tiny", engine, how, environ=environ) for how in hows]
    bench = UnitBench(Home(tmp_path / "home").prepared(), *specs, run=tmp_path / "run")
    yield bench
    await bench.launcher.stop(bench.spec)


def _in_session(folder: Path) -> list[proc.Process]:
    state = folder / "state.json"
    pid = json.loads(state.read_text()).get("pid", 0) if state.exists() else 0
    return [one for one in proc.processes().values() if pid and one.session == pid and not one.is_dead]


class TestSystemdLauncher(LauncherContract):
    pass


async def test_a_variant_is_written_beside_the_unit_and_taken_away_again(bench: UnitBench):
    folder = bench.run / "tiny.service.d"
    await bench.launcher.start(bench.variant, ENVIRON)
    text = (folder / "50-pitstop.conf").read_text()
    assert 'Environment="HOW=variant"' in text
    assert "Restart=no" in text  # a variant that dies must stay dead
    assert SECRET not in text
    assert (folder / "50-pitstop.env").stat().st_mode & 0o077 == 0
    await bench.launcher.stop(bench.variant)
    assert list(folder.iterdir()) == []


async def test_production_keeps_its_own_restart_policy(bench: UnitBench):
    await bench.launcher.start(bench.spec, ENVIRON)
    text = (bench.run / "tiny.service.d" / "50-pitstop.conf").read_text()
    assert "Restart=" not in text
    assert "HOW" not in text


async def test_a_drop_in_that_a_crash_left_behind_does_not_reach_production(bench: UnitBench):
    await bench.launcher.start(bench.variant, ENVIRON)
    await SystemdLauncher(bench.home, bench.run).stop(bench.spec)
    await bench.launcher.start(bench.spec, ENVIRON)
    found = await bench.launcher.inspect(bench.spec)
    assert "HOW" not in (proc.environment(found.pid) or {})
    assert found.fingerprint == bench.spec.fingerprint


async def test_a_timer_that_would_bring_it_back_is_refused(bench: UnitBench, tmp_path):
    (tmp_path / "triggered").write_text("tiny.timer")
    assert "tiny.timer would start it again" in await bench.launcher.recreatable(bench.spec)


async def test_an_edited_command_is_a_persons_act(bench: UnitBench, tmp_path):
    await bench.launcher.start(bench.spec, ENVIRON)
    await bench.launcher.stop(bench.spec)
    (tmp_path / "exec").write_text(json.dumps([*tiny(PORT), "edited"]))
    assert (await bench.launcher.start(bench.spec, ENVIRON)).fingerprint == bench.spec.fingerprint


async def test_an_unknown_unit_and_an_absent_manager_get_a_sentence(bench: UnitBench):
    unknown = msgspec.structs.replace(bench.spec, name="tinny.service")
    assert "no such unit" in await bench.launcher.recreatable(unknown)
    await bench.launcher.stop(unknown)
    user = msgspec.structs.replace(bench.spec, options={"user": "yes"})
    with pytest.raises(CommandFailed, match="Failed to connect to bus"):
        await bench.launcher.inspect(user)
