"""The guard's own process against real processes, under a made `/proc` whose memory the test decides."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest
import uvloop

from pitstop.core.errors import GuardTripped, UsageError
from pitstop.decisions.guard import GuardPolicy
from pitstop.launch.launcher import Running
from pitstop.services.guard.order import GuardOrder
from pitstop.services.guard.spawn import spawn_guard
from pitstop.services.guard.vigil import under_guard

GIB = 2**30
POLICY = GuardPolicy(min_available_bytes=6 * GIB, max_swap_growth_bytes=1 * GIB, interval_s=0.02)
SLEEPER = "import time; time.sleep(60)"
# A worker that leaves its session and outlives its parent, as an engine core does whose API server was killed.
ORPHAN_MAKER = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(60)
"""


class Box:
    """A made memory, an order for a guard, and the processes of an engine."""

    def __init__(self, folder):
        self.folder = folder
        self.set(available_mib=20_000)
        self.order = GuardOrder(
            "qwen",
            POLICY,
            csv=str(folder / "rows.csv"),
            evidence=str(folder / "evidence"),
            procfs=str(folder),
            recovery_s=0.1,
        )

    def set(self, available_mib, swap_used_mib=0):
        swap = f"SwapTotal: 9000000 kB\nSwapFree: {9000000 - swap_used_mib * 1024} kB\n"
        text = f"MemAvailable: {available_mib * 1024} kB\n{swap}"
        (self.folder / "next").write_text(text)
        (self.folder / "next").replace(self.folder / "meminfo")

    @property
    def log(self):
        return self.folder / "guard.log"

    def order_with(self, **changes):
        from dataclasses import replace

        return replace(self.order, **changes)


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


@contextlib.asynccontextmanager
async def engine(*argv, env=None):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", *argv, start_new_session=True, env=env
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def running(process):
    return Running(engine="qwen", fingerprint="f", started_at="2026-01-01T00:00:00Z", pid=process.pid)


async def until(condition, what):
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"did not happen within 5 s: {what}")


def descriptors(pid):
    return {int(one.name): str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()}


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


async def test_an_engine_that_crosses_the_floor_is_killed_and_everything_is_on_record(box):
    async with engine(SLEEPER) as process:
        guard = await spawn_guard(box.order, box.log)
        await guard.own(running(process))
        await until(lambda: "owns process" in box.log.read_text(), "ownership")
        box.set(available_mib=6_018)
        assert await asyncio.wait_for(process.wait(), 5) == -signal.SIGKILL
        box.set(available_mib=30_000)
        report = await asyncio.wait_for(guard.wait(), 10)
    assert (report.verdict, report.cause, report.memory_back) == ("tripped", "floor", True)
    assert [one["pid"] for one in report.killed] == [process.pid]
    assert report.reading_to_signal_ms < 1000
    evidence = json.loads((box.folder / "evidence/guard.json").read_text())
    assert evidence["ring"][0]["available_bytes"] == 20_000 * 2**20
    assert evidence["ring"][-1]["available_bytes"] == 6_018 * 2**20
    assert "killed: floor" in (box.folder / "rows.csv").read_text()


def test_a_guard_that_ended_by_itself_is_told_to_stop_without_an_error(box):
    """In the loop of the command line, which closes a pipe to a process as soon as that is gone."""

    async def told_in_vain():
        async with engine(SLEEPER) as process:
            guard = await spawn_guard(box.order, box.log)
            await guard.own(running(process))
            await until(lambda: "owns process" in box.log.read_text(), "ownership")
            box.set(available_mib=6_018)
            await asyncio.wait_for(guard.wait(), 30)
            for _ in range(20):  # until the loop has seen that nobody reads any more
                await guard.own(running(process))
                await asyncio.sleep(0.02)
            return await guard.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(told_in_vain()).tripped


async def test_the_ends_of_its_streams_are_held_by_its_streams_alone(box):
    """Or whatever its own children leave running would keep whoever waits for its report."""
    async with under_guard(box.order, None, box.log) as guard:
        held = descriptors(guard.pid)
        assert [number for number, end in held.items() if end in (held[0], held[1])] == [0, 1]


async def test_swap_growth_kills_while_memory_looks_good(box):
    box.set(available_mib=20_000, swap_used_mib=3_000)
    async with engine(SLEEPER) as process:
        guard = await spawn_guard(box.order_with(pid=process.pid), box.log)
        box.set(available_mib=20_000, swap_used_mib=4_100)
        report = await asyncio.wait_for(guard.wait(), 10)
    assert (report.cause, report.highest_swap_growth_bytes) == ("swap", 1_100 * 2**20)


async def test_children_and_orphans_that_left_the_session_die_too(box, tmp_path):
    mark = {"PITSTOP_ENGINE": "qwen", "PITSTOP_ENGINE_HOME": "/h"}
    order = box.order_with(mark="PITSTOP_ENGINE=qwen\0PITSTOP_ENGINE_HOME=/h")
    async with engine(ORPHAN_MAKER, str(tmp_path / "orphan"), env=mark) as process, engine(SLEEPER) as bystander:
        await until(lambda: (tmp_path / "orphan").exists() and (tmp_path / "orphan").read_text(), "the orphan")
        orphan = int((tmp_path / "orphan").read_text())
        guard = await spawn_guard(order, box.log)
        await guard.own(running(process))
        await until(lambda: "owns process" in box.log.read_text(), "ownership")
        box.set(available_mib=100)
        report = await asyncio.wait_for(guard.wait(), 10)
        assert gone(orphan)
        assert bystander.returncode is None
        assert not gone(bystander.pid)
    assert report.memory_back is False
    assert {one["pid"] for one in report.killed} == {process.pid, orphan}


async def test_a_floor_that_is_violated_already_is_refused_with_both_numbers(box):
    box.set(available_mib=6_018)
    with pytest.raises(UsageError, match=r"6018 MiB \(6.31 GB\) is below the floor of 6144 MiB \(6.44 GB\)"):
        await spawn_guard(box.order, box.log)


async def test_the_same_is_killed_when_that_was_asked_for(box):
    box.set(available_mib=6_018)
    async with engine(SLEEPER) as process:
        order = box.order_with(kill_when_low=True, pid=process.pid)
        report = await asyncio.wait_for((await spawn_guard(order, box.log)).wait(), 10)
    assert report.tripped


@pytest.mark.parametrize("pid", [1, 2**22 - 1])
async def test_what_may_not_or_cannot_be_owned_is_refused(box, pid):
    with pytest.raises(UsageError, match=r"no process|first process"):
        await spawn_guard(box.order_with(pid=pid), box.log)


async def test_it_refuses_to_own_whoever_started_it(box):
    with pytest.raises(UsageError, match="is the guard itself or started it"):
        await spawn_guard(box.order_with(pid=os.getpid()), box.log)


async def test_a_meminfo_without_memavailable_is_refused(box):
    (box.folder / "meminfo").write_text("MemFree: 5 kB\n")
    with pytest.raises(UsageError, match="no readable MemAvailable"):
        await spawn_guard(box.order, box.log)


async def test_torn_and_missing_readings_kill_nobody(box):
    async with engine(SLEEPER) as process:
        guard = await spawn_guard(box.order_with(pid=process.pid), box.log)
        for text in ("MemAvailable: 1", "", "MemFree: 1 kB\n"):
            (box.folder / "meminfo").write_text(text)
            await asyncio.sleep(0.06)
        report = await guard.stop()
        assert process.returncode is None
    assert report.verdict == "clean"


async def test_it_ends_with_the_engine_that_it_owns(box):
    async with engine(SLEEPER) as process:
        guard = await spawn_guard(box.order_with(pid=process.pid), box.log)
        guard._process.stdin.close()
        process.kill()
        report = await asyncio.wait_for(guard.wait(), 10)
    assert report.verdict == "gone"


async def test_it_stays_with_the_engine_when_its_parent_is_gone_and_still_kills(box):
    async with engine(SLEEPER) as process:
        guard = await spawn_guard(box.order, box.log)
        await guard.own(running(process))
        await until(lambda: "owns process" in box.log.read_text(), "ownership")
        guard._process.stdin.close()
        await asyncio.sleep(0.1)
        box.set(available_mib=100)
        assert await asyncio.wait_for(process.wait(), 5) == -signal.SIGKILL
        await guard.wait()


async def test_leaving_the_context_after_a_kill_raises_what_happened(box):
    async def work():
        async with engine(SLEEPER) as process, under_guard(box.order, running(process), box.log) as guard:
            await until(lambda: "owns process" in box.log.read_text(), "ownership")
            box.set(available_mib=100)
            await guard.wait()

    with pytest.raises(GuardTripped, match="killed qwen: MemAvailable 100 MiB"):
        await work()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_guard_that_is_killed_itself_is_replaced_and_the_next_one_kills_for_it(box, number):
    told = []

    async def work():
        async with (
            engine(SLEEPER) as process,
            under_guard(box.order, running(process), box.log, told=told.append) as guard,
        ):
            await until(lambda: "owns process" in box.log.read_text(), "ownership")
            first = guard.pid
            os.kill(first, number)
            await until(lambda: box.log.read_text().count("owns process") == 2, "ownership by another one")
            assert guard.pid != first
            box.set(available_mib=100)
            assert await asyncio.wait_for(process.wait(), 5) == -signal.SIGKILL

    with pytest.raises(GuardTripped, match="killed qwen: MemAvailable 100 MiB"):
        await work()
    assert len(told) == 1
    assert "was without its memory guard" in told[0]


async def test_memory_that_fell_while_there_was_no_guard_is_killed_for_at_once(box):
    async def work():
        async with engine(SLEEPER) as process, under_guard(box.order, running(process), box.log) as guard:
            await until(lambda: "owns process" in box.log.read_text(), "ownership")
            os.kill(guard.pid, signal.SIGSTOP)
            box.set(available_mib=100)
            os.kill(guard.pid, signal.SIGKILL)
            assert await asyncio.wait_for(process.wait(), 5) == -signal.SIGKILL

    with pytest.raises(GuardTripped):
        await work()


async def test_leaving_the_context_without_a_kill_is_quiet(box):
    async with engine(SLEEPER) as process, under_guard(box.order, running(process), box.log):
        pass
    assert process.returncode is not None


async def test_low_memory_before_there_is_an_engine_is_only_watched(box):
    guard = await spawn_guard(box.order, box.log)
    box.set(available_mib=100)
    await until(lambda: "nothing of its own" in box.log.read_text(), "the warning")
    assert (await guard.stop()).verdict == "clean"
