import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap

import msgspec
import pytest

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch import orphans, proc, record
from pitstop.launch.launcher import LaunchSpec
from pitstop.launch.process import ProcessLauncher
from support.embedded import free_port
from support.launch_contract import (
    ENVIRON,
    Bench,
    LauncherContract,
    cleaned,
    is_alive,
    listening,
    running_pid,
    tiny,
    until,
)

PORT = free_port()


def spec_of(*how: str, engine: str = "tiny", **more) -> LaunchSpec:
    return LaunchSpec(
        engine=engine,
        launcher="process",
        argv=tiny(PORT, *how),
        port=PORT,
        base_env={"PATH": os.environ["PATH"]},
        secret_env={"TINY_API_KEY": "TINY_API_KEY"},
        secret_digests={"TINY_API_KEY": "0123"},
        stop_timeout_s=0.5,
        **more,
    )


@pytest.fixture
async def bench(tmp_path):
    made = Bench(Home(tmp_path / "home").prepared(), spec_of(), spec_of("variant"), spec_of("die=7"), spec_of("mute"))
    async with cleaned(made) as bench:
        yield bench


class TestProcessLauncher(LauncherContract):
    pass


@contextlib.contextmanager
def bystander():
    """A process that has nothing to do with any engine."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        yield other
    finally:
        other.kill()
        other.wait()


async def pids_of(bench: Bench) -> set[int]:
    marked = (pid for pid in proc.processes() if proc.inside(pid, {"PITSTOP_ENGINE_HOME": str(bench.home.root)}))
    return {pid for pid in marked if is_alive(pid)}


@pytest.mark.parametrize(
    "how",
    [
        ("ignore-term",),
        ("child",),
        ("ignore-term", "child", "double-fork"),
        ("clean-child",),
        ("close-fds",),
        ("daemon",),
        ("daemon", "ignore-term", "double-fork"),
    ],
    ids="+".join,
)
async def test_every_descendant_is_gone_after_a_stop(bench: Bench, how):
    spec = spec_of(*how)
    await bench.launcher.start(spec, ENVIRON)
    await listening(PORT)
    before = {pid for pid, one in proc.processes().items() if not one.is_dead}
    mine = await pids_of(bench)
    clean = {pid for pid in before if "time.sleep(600)" in proc.command(pid)}
    assert mine
    await bench.launcher.stop(spec)
    assert not [pid for pid in mine | clean if is_alive(pid)]
    assert await bench.launcher.inspect(spec) is None


async def test_a_daemon_is_found_after_its_first_process_ended(bench: Bench):
    spec = spec_of("daemon")
    started = await bench.launcher.start(spec, ENVIRON)
    await listening(PORT)
    found = await bench.launcher.inspect(spec)
    assert running_pid(found) != started.pid
    assert found.fingerprint == spec.fingerprint


async def test_no_zombie_is_left_and_none_is_waited_for(bench: Bench):
    spec = spec_of("die=7")
    started = await bench.launcher.start(spec, ENVIRON)
    # It is dead and nobody has asked for its exit state: a zombie, which must not count as an engine that is up.
    await asyncio.to_thread(os.waitid, os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)
    assert await bench.launcher.inspect(spec) is None
    assert proc.read(started.pid) is None
    await bench.launcher.stop(spec)


async def test_a_stopped_process_ends_too(bench: Bench):
    started = await bench.launcher.start(bench.spec, ENVIRON)
    os.kill(started.pid, signal.SIGSTOP)
    await bench.launcher.stop(bench.spec)
    assert not is_alive(started.pid)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"spec": 3}', b"null", b"[" * 10_000])
async def test_a_corrupt_record_hides_nothing(bench: Bench, content):
    started = await bench.launcher.start(bench.spec, ENVIRON)
    (bench.home.engines / "tiny.json").write_bytes(content)
    found = await bench.launcher.inspect(bench.spec)
    assert (running_pid(found), found.fingerprint) == (started.pid, bench.spec.fingerprint)
    await bench.launcher.stop(bench.spec)
    assert not is_alive(started.pid)


async def test_a_number_that_was_given_to_another_process_is_left_alone(bench: Bench):
    with bystander() as other:
        noted = record.LaunchRecord(
            spec=bench.spec, state="started", boot_id=proc.boot_id(), launch="x", pid=other.pid, start_ticks=1
        )
        record.write(bench.home, noted)
        assert await bench.launcher.inspect(bench.spec) is None
        await bench.launcher.stop(bench.spec)
        assert other.poll() is None


async def test_a_record_of_another_boot_is_left_alone(bench: Bench):
    with bystander() as other:
        ticks = proc.read(other.pid).start_ticks
        noted = record.LaunchRecord(
            spec=bench.spec, state="started", boot_id="another", launch="x", pid=other.pid, start_ticks=ticks
        )
        record.write(bench.home, noted)
        await bench.launcher.stop(bench.spec)
        assert other.poll() is None


async def test_an_engine_of_the_same_name_in_another_state_folder_is_left_alone(bench: Bench, tmp_path):
    other = ProcessLauncher(Home(tmp_path / "other").prepared())
    started = await bench.launcher.start(bench.spec, ENVIRON)
    assert await other.inspect(bench.spec) is None
    await other.stop(bench.spec)
    assert is_alive(started.pid)


async def test_a_full_disk_does_not_keep_the_engine_down(bench: Bench, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(record, "write_durably", full)
    monkeypatch.setattr("pitstop.launch.logfile.os.write", full)
    started = await bench.launcher.start(bench.spec, ENVIRON)
    assert running_pid(await bench.launcher.inspect(bench.spec)) == started.pid
    os.kill(started.pid, signal.SIGKILL)
    await until(lambda: _is_none(bench))
    assert await bench.launcher.exit_state(bench.spec) == -9


async def _is_none(bench: Bench) -> bool:
    return await bench.launcher.inspect(bench.spec) is None


async def test_a_log_on_a_really_full_file_system_does_not_either(bench: Bench):
    (bench.home.logs / "tiny.log").symlink_to("/dev/full")
    started = await bench.launcher.start(bench.spec, ENVIRON)
    await listening(PORT)
    assert is_alive(started.pid)


async def test_what_cannot_be_executed_gets_a_sentence(bench: Bench):
    for argv, cwd, sentence in (
        (("/no/such/program",), "", "is not an executable program"),
        (("no-such-program",), "", "is not an executable program"),
        ((__file__,), "", "is not an executable program"),
        (tiny(PORT), "/no/such/folder", "folder /no/such/folder does not exist"),
    ):
        broken = msgspec.structs.replace(bench.spec, argv=argv, cwd=cwd)
        assert sentence in await bench.launcher.recreatable(broken)
        with pytest.raises(EngineFailed, match=sentence):
            await bench.launcher.start(broken, ENVIRON)


async def test_the_log_is_kept_across_restarts_with_a_line_between(bench: Bench):
    for _ in range(2):
        await bench.launcher.start(bench.spec, ENVIRON)
        await listening(PORT)
        await bench.launcher.stop(bench.spec)
    text = (bench.home.logs / "tiny.log").read_text()
    assert text.count("═══ pitstop: tiny starts") == text.count(f"tiny engine on {PORT}") == 2
    assert await bench.launcher.log_tail(bench.spec) == [f"tiny engine on {PORT}:"]


async def test_only_one_start_at_a_time(bench: Bench):
    outcomes = await asyncio.gather(
        *(bench.launcher.start(bench.spec, ENVIRON) for _ in range(4)), return_exceptions=True
    )
    assert sum(not isinstance(one, BaseException) for one in outcomes) == 1
    assert all(isinstance(one, UsageError) for one in outcomes if isinstance(one, BaseException))


async def test_a_left_over_is_named_with_its_memory(bench: Bench):
    started = await bench.launcher.start(bench.spec, ENVIRON)
    await listening(PORT)
    found = {one.pid: one for one in await orphans.left_over(bench.spec, str(bench.home.root))}
    assert found[started.pid].memory_bytes > 2**20
    assert found[started.pid].why == f"listens on port {PORT}"
    assert await orphans.left_over(bench.spec, str(bench.home.root), except_pids=list(found)) == []


STARTER = """
import asyncio, os, signal, sys
from pathlib import Path
import msgspec
from pitstop.core import durable
from pitstop.core.home import Home
from pitstop.launch import process, record
from pitstop.launch.launcher import LaunchSpec

at, home, spec = sys.argv[1], Home(Path(sys.argv[2])), msgspec.json.decode(sys.argv[3], type=LaunchSpec)

def die(*_args, **_kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

def dying_at(number, real):
    calls = []
    def write(*args, **kwargs):
        calls.append(1)
        return die() if len(calls) == number else real(*args, **kwargs)
    return write

if at == "before-first-record": record.write = dying_at(1, record.write)
if at == "after-first-record": process.logfile.open_for_engine = die
if at == "before-fork": process._fork = die
if at == "after-fork":
    fork = process._fork
    process._fork = lambda *args: (fork(*args), die())
if at == "before-second-record": record.write = dying_at(2, record.write)
asyncio.run(process.ProcessLauncher(home).start(spec, os.environ))
if at == "after-start": die()
"""


@pytest.mark.parametrize(
    ("at", "is_up"),
    [
        ("before-first-record", False),
        ("after-first-record", False),
        ("before-fork", False),
        ("after-fork", True),
        ("before-second-record", True),
        ("after-start", True),
    ],
)
async def test_a_starter_killed_at_any_step_leaves_an_engine_that_is_found_or_none(bench: Bench, at, is_up):
    argument = msgspec.json.encode(bench.spec).decode()
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", textwrap.dedent(STARTER), at, str(bench.home.root), argument],
        env=ENVIRON,
        check=False,
        timeout=30,
    )
    assert done.returncode == -signal.SIGKILL
    found = await bench.launcher.inspect(bench.spec)
    assert (found is not None) == is_up
    if is_up:
        assert found.fingerprint == bench.spec.fingerprint
        await listening(PORT)
        await bench.launcher.stop(bench.spec)
        assert not is_alive(found.pid)
    else:
        await bench.launcher.start(bench.spec, ENVIRON)


async def test_the_engine_is_in_a_session_of_its_own_without_a_terminal(bench: Bench):
    started = await bench.launcher.start(bench.spec, ENVIRON)
    process = proc.read(started.pid)
    assert process.session == process.pid != os.getsid(0)
    assert os.readlink(f"/proc/{started.pid}/fd/0") == "/dev/null"  # noqa: PTH115 - Path.readlink blocks just as long


async def test_nothing_that_happened_to_be_set_reaches_the_engine(bench: Bench):
    started = await bench.launcher.start(bench.spec, {**ENVIRON, "VLLM_USE_V1": "0", "CUDA_VISIBLE_DEVICES": "3"})
    seen = proc.environment(started.pid)
    assert "VLLM_USE_V1" not in seen
    assert "CUDA_VISIBLE_DEVICES" not in seen
    assert seen["PITSTOP_ENGINE"] == "tiny"


async def test_the_record_can_be_read_by_a_person(bench: Bench):
    started = await bench.launcher.start(bench.spec, ENVIRON)
    noted = json.loads((bench.home.engines / "tiny.json").read_text())
    assert (noted["pid"], noted["state"], noted["spec"]["engine"]) == (started.pid, "started", "tiny")
    assert (bench.home.engines / "tiny.json").stat().st_mode & 0o077 == 0


async def test_a_listener_on_another_address_is_no_conflict(bench: Bench):
    with socket.create_server(("127.0.0.2", PORT)):
        await bench.launcher.start(bench.spec, ENVIRON)
