"""The watchdog against a real process that is really wedged, dead, loading, saturated, or behind a wrong key."""

import asyncio
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from pitstop.core.config.load import parse
from pitstop.core.home import Home
from pitstop.decisions.watchdog import Do, Health, WatchPolicy, WatchState
from pitstop.launch.ready import ready
from pitstop.services.lease import acquire
from pitstop.services.site import site_of
from pitstop.services.watchdog import memory
from pitstop.services.watchdog.beat import Hands, beat

ENGINE = Path(__file__).parents[2] / "support/watched_engine.py"
POLICY = WatchPolicy()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class World:
    """One engine, one watchdog, and a clock that can be put forward."""

    def __init__(self, folder):
        self.home = Home(folder / "home").prepared()
        self.mode_file = folder / "mode"
        self.mode("ok")
        config = parse(
            f"""
[engine.m]
kind = "vllm"
model = "m"
base_url = "http://127.0.0.1:{free_port()}/v1"
production = true
stop_timeout = "1 s"
[engine.m.launch]
with = "process"
command = ["{sys.executable}", "-I", "-S", "{ENGINE}", "{{port}}", "{self.mode_file}"]
"""
        )
        self.site = site_of("m", config.engine["m"], self.home, os.environ)
        self.ahead_s = 0.0
        self.told, self.filed, self.recoveries = [], [], 0
        self.hands = Hands(
            self.home, self.clock, self.clock, self.tell, self.recover, self.filed.append, deadline_s=0.4, metrics_s=1.0
        )

    def clock(self):
        return time.time() + self.ahead_s

    async def tell(self, _title, body):
        self.told.append(body)

    async def recover(self):
        self.recoveries += 1
        return ""

    def mode(self, word):
        self.mode_file.write_text(word)

    async def start(self):
        await self.site.launcher.start(self.site.spec, self.site.environ)
        return await ready(self.site.launcher, self.site.spec, self.site.adapter, self.site.endpoint, 20.0)

    async def pass_minutes(self, minutes):
        self.ahead_s += 60.0 * minutes
        return await beat(self.site, POLICY, self.hands)


@pytest.fixture
async def world(tmp_path):
    made = World(tmp_path)
    await made.start()
    yield made
    running = await made.site.running()
    if running is not None and running.pid:
        os.kill(running.pid, signal.SIGCONT)
    await made.site.launcher.stop(made.site.spec)


async def test_a_wedged_engine_is_restarted_at_the_second_strike_with_evidence_and_generates_again(world):
    before = await world.site.running()
    _, step = await world.pass_minutes(16)
    assert step.health is Health.GENERATING
    os.kill(before.pid, signal.SIGSTOP)
    _, first = await world.pass_minutes(5)
    assert (first.health, first.strike, first.action) == (Health.WEDGED, True, None)
    _, second = await world.pass_minutes(5)
    assert second.action is Do.RESTART
    after = await world.site.running()
    assert after.pid != before.pid
    await ready(world.site.launcher, world.site.spec, world.site.adapter, world.site.endpoint, 20.0)
    _, step = await world.pass_minutes(1)
    assert step.health is Health.GENERATING
    (folder,) = world.home.evidence.iterdir()
    assert {"about.txt", "log.txt", "metrics.txt", "memory.txt", "kernel.log"} <= {one.name for one in folder.iterdir()}
    assert world.filed[0].signature == "watchdog-wedged"
    assert any("restarted after wedged" in text for text in world.told)


async def test_a_dead_engine_is_started_again(world):
    running = await world.site.running()
    os.kill(running.pid, signal.SIGKILL)
    for _ in range(500):
        if await world.site.running() is None:
            break
        await asyncio.sleep(0.01)
    states = [(await world.pass_minutes(20))[1] for _ in range(2)]
    assert [step.health for step in states] == [Health.DEAD, Health.DEAD]
    assert (await world.site.running()).pid != running.pid


async def test_what_pitstop_down_stopped_stays_down(world):
    await world.site.launcher.stop(world.site.spec)
    for _ in range(3):
        _, step = await world.pass_minutes(20)
        assert (step.health, step.strike, step.action) == (Health.DEAD, False, None)
    assert await world.site.running() is None


@pytest.mark.parametrize(
    ("mode", "health"),
    [
        ("key", Health.CANNOT_ASK),
        ("model", Health.CANNOT_ASK),
        ("busy429", Health.THROTTLED),
        ("saturated", Health.SATURATED),
        ("busy", Health.BUSY),
    ],
)
async def test_what_is_no_failure_of_the_engine_never_restarts_it(world, mode, health):
    before = await world.site.running()
    world.mode(mode)
    for _ in range(4):
        _, step = await world.pass_minutes(20)
        assert (step.health, step.strike) == (health, False)
    assert (await world.site.running()).pid == before.pid


async def test_a_young_engine_that_answers_503_is_loading_and_an_old_one_is_wedged(world):
    world.mode("loading")
    assert (await world.pass_minutes(0))[1].health is Health.LOADING
    assert (await world.pass_minutes(16))[1].health is Health.WEDGED


async def test_an_engine_that_recovers_before_the_restart_is_spared_by_the_second_look(world, monkeypatch):
    from pitstop.services import evidence

    before = await world.site.running()
    world.mode("error")
    await world.pass_minutes(20)

    async def heals(*_, **__):
        world.mode("ok")
        return []

    monkeypatch.setattr(evidence, "collect", heals)
    state, step = await world.pass_minutes(5)
    assert step.action is Do.RESTART
    assert (await world.site.running()).pid == before.pid
    assert state.strikes == 0
    assert any("at a second look it was generating" in text for text in world.told)


async def test_while_somebody_holds_the_lease_a_silent_engine_is_left_alone(world):
    world.mode("error")
    lease = acquire(world.home, world.clock, purpose="trial x", engines=("m",), trial="x")
    try:
        for _ in range(4):
            _, step = await world.pass_minutes(0.2)
            assert (step.strike, step.action) == (False, None)
    finally:
        lease.release()


async def test_the_restore_of_an_expired_lease_is_finished(world):
    acquire(world.home, world.clock, purpose="trial x", engines=("m",), trial="x")
    _, step = await world.pass_minutes(10)  # nobody renewed it
    assert step.action is Do.RECOVER
    assert world.recoveries == 1


async def test_strikes_survive_a_restart_of_the_watchdog_and_a_broken_file_is_a_fresh_start(world, caplog):
    world.mode("error")
    await world.pass_minutes(20)
    assert memory.recall(world.home, "m").strikes == 1
    (world.home.root / "watch/m.json").write_bytes(b'{"strikes": "many"')
    assert memory.recall(world.home, "m") == WatchState()
    assert "begins anew" in caplog.text
