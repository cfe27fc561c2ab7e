import os
import socket
from pathlib import Path

import pytest

from pitstop.client.endpoint import Endpoint
from pitstop.core.errors import EngineFailed, RequestRefused
from pitstop.core.home import Home
from pitstop.decisions.memory_back import Answer, MemoryPolicy
from pitstop.engines.adapter import Readiness, ReadinessReport
from pitstop.launch import logfile, memory_back, ready
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.launch.process import ProcessLauncher
from support.embedded import free_port
from support.launch_contract import tiny

PORT = free_port()
ENDPOINT = Endpoint(f"http://127.0.0.1:{PORT}/v1", "tiny")
LOADING, UNREACHABLE = ReadinessReport(Readiness.LOADING, "503"), ReadinessReport(Readiness.UNREACHABLE, "refused")
READY = ReadinessReport(Readiness.READY, models=("tiny",))


class Answers:
    """An adapter that gives these answers, the last one for ever."""

    kind = "scripted"

    def __init__(self, *reports: ReadinessReport) -> None:
        self._reports = list(reports)

    async def readiness(self, _endpoint, *, deadline_s=5.0):
        return self._reports.pop(0) if len(self._reports) > 1 else self._reports[0]


class Connects:
    """An adapter that calls whatever listens ready."""

    kind = "port"

    async def readiness(self, _endpoint, *, deadline_s=5.0):
        try:
            socket.create_connection(("127.0.0.1", PORT), 0.2).close()
        except OSError:
            return UNREACHABLE
        return READY


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(ready, "_POLL_S", 0.01)


@pytest.fixture
async def launch(tmp_path):
    """Start a tiny engine; returns its launcher and its launch value."""
    launcher = ProcessLauncher(Home(tmp_path).prepared())
    specs = []

    async def start(*how: str):
        environ = {"PATH": os.environ["PATH"]}
        spec = LaunchSpec(
            engine="tiny", launcher="process", argv=tiny(PORT, *how), port=PORT, base_env=environ, stop_timeout_s=0.5
        )
        specs.append(spec)
        await launcher.start(spec, environ)
        return launcher, spec

    yield start
    for spec in specs:
        await launcher.stop(spec)


async def test_an_engine_that_answers_is_ready_and_progress_was_told(launch):
    told = []
    launcher, spec = await launch()
    running = await ready.ready(
        launcher, spec, Connects(), ENDPOINT, 20.0, progress=lambda what, elapsed_s: told.append((what, elapsed_s))
    )
    assert running.fingerprint == spec.fingerprint
    assert all(isinstance(what, str) and elapsed_s >= 0 for what, elapsed_s in told)


async def test_an_engine_that_dies_is_told_with_its_exit_code_and_its_last_lines(launch):
    launcher, spec = await launch("die=7")
    with pytest.raises(EngineFailed, match=r"died .* with exit code 7") as caught:
        await ready.ready(launcher, spec, Connects(), ENDPOINT, 20.0)
    assert "RuntimeError: Engine core initialization failed" in caught.value.hint
    assert str(launcher.log_path(spec)) in caught.value.hint
    assert caught.value.exit_code == 3


async def test_an_engine_that_never_listens_is_given_up_after_boot_timeout(launch):
    launcher, spec = await launch("mute")
    with pytest.raises(EngineFailed, match=r"not ready within 0\.2 s \(refused\)") as caught:
        await ready.ready(launcher, spec, Connects(), ENDPOINT, 0.2)
    assert "boot_timeout" in caught.value.hint


async def test_nothing_is_measured_on_a_left_over_server(launch):
    launcher, spec = await launch("mute")
    with socket.create_server(("127.0.0.1", PORT)):  # took the port between the look and the start
        with pytest.raises(EngineFailed, match=rf"port {PORT} is held by pid {os.getpid()}") as caught:
            await ready.ready(launcher, spec, Connects(), ENDPOINT, 20.0)
        assert "Nothing was measured" in caught.value.hint


async def test_a_server_that_does_not_speak_http_on_the_port_is_named_when_time_is_up(launch):
    launcher, spec = await launch("mute")
    with socket.create_server(("127.0.0.1", PORT)), pytest.raises(EngineFailed, match=f"pid {os.getpid()}"):
        await ready.ready(launcher, spec, Answers(UNREACHABLE), ENDPOINT, 0.1)


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (ReadinessReport(Readiness.REFUSED, "401"), "refuses the key: 401"),
        (ReadinessReport(Readiness.WRONG_MODEL, models=("a", "b")), "serves a, b, not the configured one"),
    ],
)
async def test_what_waiting_would_not_cure_is_told_at_once(launch, report, sentence):
    launcher, spec = await launch()
    with pytest.raises(RequestRefused, match=sentence):
        await ready.ready(launcher, spec, Answers(LOADING, report), ENDPOINT, 20.0)


async def test_a_server_that_lists_no_model_yet_is_still_loading(launch):
    launcher, spec = await launch()
    empty = ReadinessReport(Readiness.WRONG_MODEL)
    assert await ready.ready(launcher, spec, Answers(empty, LOADING, empty, READY), ENDPOINT, 20.0)


class Blinks:
    """A launcher whose engine is out of sight for one look, as when it re-executes itself."""

    def __init__(self) -> None:
        self._looks = 0

    async def inspect(self, spec):
        self._looks += 1
        up = Running(engine=spec.engine, fingerprint=spec.fingerprint, started_at="2026-01-01T00:00:00Z", pid=1)
        return None if self._looks == 2 else up

    async def foreign_listener(self, _spec):
        return ""


async def test_one_look_that_sees_nothing_is_not_a_death():
    spec = LaunchSpec(engine="e", launcher="process", argv=("x",), port=PORT)
    assert await ready.ready(Blinks(), spec, Answers(LOADING, LOADING, LOADING, READY), ENDPOINT, 20.0)


def meminfo(folder: Path, *gib: float):
    """A meminfo file that shows the next value at each reading."""
    path = folder / "meminfo"
    values = list(gib)

    class Meminfo(type(path)):
        def read_text(self, *_args, **_kwargs):
            value = values.pop(0) if len(values) > 1 else values[0]
            return f"MemTotal: 1 kB\nMemFree: 1048576 kB\nMemAvailable: {round(value * 2**20)} kB\n"

    return Meminfo(path)


async def test_memory_is_waited_for_until_it_is_measured_to_be_back(tmp_path):
    spec = LaunchSpec(engine="e", launcher="process", argv=("x",), port=PORT)
    policy = MemoryPolicy(117 * 2**30)
    done = await memory_back.wait_until_back(
        spec, str(tmp_path), policy, meminfo=meminfo(tmp_path, 31, 31, 48, 90, 117), poll_s=0.001
    )
    assert (done.answer, len(done.readings), done.orphans) == (Answer.BACK, 5, ())
    assert done.memory.free_bytes == 2**30


async def test_memory_that_does_not_come_back_ends_with_the_names_of_those_who_hold_it(launch, tmp_path):
    launcher, spec = await launch()
    policy = MemoryPolicy(117 * 2**30, timeout_s=0.05)
    done = await memory_back.wait_until_back(spec, str(tmp_path), policy, meminfo=meminfo(tmp_path, 31), poll_s=0.01)
    pid = (await launcher.inspect(spec)).pid
    assert done.answer is Answer.TIMEOUT
    assert "31.00 < 117.00 GiB" in done.reason
    assert f"still there: pid {pid}" in done.sentence()


def test_meminfo_is_read_in_kib_and_garbage_gets_a_sentence(tmp_path):
    assert memory_back.read_memory().available_bytes > 0
    for text in ("", "MemAvailable: x kB\nMemFree: 1 kB", "MemAvailable:\n"):
        (tmp_path / "meminfo").write_text(text)
        with pytest.raises(EngineFailed, match="does not say how much memory"):
            memory_back.read_memory(tmp_path / "meminfo")
    assert "root" in memory_back.drop_page_cache(tmp_path / "no" / "such")


def test_a_log_is_bounded_and_its_tail_is_of_this_start(tmp_path):
    from datetime import UTC, datetime

    path, now = tmp_path / "e.log", datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(3):
        descriptor = logfile.open_for_engine(path, "e", "f", now, max_bytes=300)
        os.write(descriptor, f"line {number}\n".encode() * 20)
        os.close(descriptor)
    assert path.stat().st_size < 300 < path.stat().st_size + path.with_name("e.log.1").stat().st_size
    assert logfile.tail(path, 2, this_start_only=True) == ["line 2"] * 2
    assert logfile.tail(path, 0) == logfile.tail(None, 5) == logfile.tail(tmp_path / "none", 5) == []
