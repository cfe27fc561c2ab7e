"""What every launcher must do. One suite: each launcher's tests inherit it and say how a tiny engine is launched."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch.launcher import Launcher, LaunchSpec, Running
from pitstop.launch.registry import launcher_for

TINY = Path(__file__).with_name("tiny_engine.py")
SECRET = "sk-do-not-show-this-anywhere"
ENVIRON = {**os.environ, "TINY_API_KEY": SECRET}


@dataclass
class Bench:
    """One launcher on a state folder of its own."""

    home: Home
    spec: LaunchSpec
    variant: LaunchSpec
    dying: LaunchSpec  # ends with exit code 7
    mute: LaunchSpec  # never listens

    @property
    def launcher(self) -> Launcher:
        """A new one each time, as another process would make it."""
        return launcher_for(self.spec, self.home)


class LauncherContract:
    """Inherit, and give a fixture `bench`."""

    knows_exit_code = True

    async def test_what_was_started_is_found_as_it_was_ordered(self, bench: Bench):
        started = await bench.launcher.start(bench.spec, ENVIRON)
        assert started.fingerprint == bench.spec.fingerprint
        found = await bench.launcher.inspect(bench.spec)
        assert found is not None
        assert (found.fingerprint, found.pid, found.container_id) == (
            started.fingerprint,
            started.pid,
            started.container_id,
        )
        assert found.started_at[:4].isdigit()

    async def test_a_variant_is_not_taken_for_production(self, bench: Bench):
        await bench.launcher.start(bench.variant, ENVIRON)
        found = await bench.launcher.inspect(bench.spec)
        assert found is not None
        assert found.fingerprint == bench.variant.fingerprint != bench.spec.fingerprint

    async def test_what_is_not_up_is_none_and_stopping_it_is_no_error(self, bench: Bench):
        assert await bench.launcher.inspect(bench.spec) is None
        await bench.launcher.stop(bench.spec)

    async def test_stopped_means_gone_with_the_port_free(self, bench: Bench):
        started = await bench.launcher.start(bench.spec, ENVIRON)
        await listening(bench.spec.port)
        await bench.launcher.stop(bench.spec)
        assert await bench.launcher.inspect(bench.spec) is None
        assert not is_alive(started.pid)
        with socket.create_server(("127.0.0.1", bench.spec.port)):
            pass
        await bench.launcher.stop(bench.spec)

    async def test_it_starts_again_after_a_stop(self, bench: Bench):
        first = await bench.launcher.start(bench.spec, ENVIRON)
        await bench.launcher.stop(bench.spec)
        second = await bench.launcher.start(bench.spec, ENVIRON)
        assert second.fingerprint == first.fingerprint
        assert second.started_at != first.started_at or second.pid != first.pid

    async def test_starting_what_is_up_says_so(self, bench: Bench):
        await bench.launcher.start(bench.spec, ENVIRON)
        with pytest.raises(UsageError, match="already up"):
            await bench.launcher.start(bench.variant, ENVIRON)
        assert await bench.launcher.inspect(bench.spec) is not None

    async def test_a_port_that_somebody_else_holds_is_named_before_anything_starts(self, bench: Bench):
        with socket.create_server(("127.0.0.1", bench.spec.port)):
            with pytest.raises(UsageError, match=rf"port {bench.spec.port} .*pid {os.getpid()} "):
                await bench.launcher.start(bench.spec, ENVIRON)
            assert await bench.launcher.inspect(bench.spec) is None

    async def test_its_own_listener_is_not_a_stranger(self, bench: Bench):
        await bench.launcher.start(bench.spec, ENVIRON)
        await listening(bench.spec.port)
        assert await bench.launcher.foreign_listener(bench.spec) == ""

    async def test_a_listener_of_somebody_else_is_a_stranger(self, bench: Bench):
        await bench.launcher.start(bench.mute, ENVIRON)
        with socket.create_server(("127.0.0.1", bench.spec.port)):
            assert f"pid {os.getpid()}" in await bench.launcher.foreign_listener(bench.mute)

    async def test_an_engine_that_dies_leaves_its_exit_code_and_its_last_lines(self, bench: Bench):
        with contextlib.suppress(EngineFailed):  # some launchers see the death before `start` returns
            await bench.launcher.start(bench.dying, ENVIRON)
        await until(lambda: gone(bench.launcher, bench.dying))
        assert await bench.launcher.exit_state(bench.dying) == (7 if self.knows_exit_code else None)
        assert "Engine core initialization failed" in "\n".join(await bench.launcher.log_tail(bench.dying))

    async def test_no_secret_is_kept_or_shown(self, bench: Bench):
        started = await bench.launcher.start(bench.spec, ENVIRON)
        kept = [msgspec.json.encode(bench.spec), *_kept(bench.home), _proc(started.pid, "cmdline")]
        assert not any(SECRET.encode() in content for content in kept)
        assert f"TINY_API_KEY={SECRET}".encode() in _proc(started.pid, "environ").split(b"\0")

    async def test_a_secret_that_is_not_set_is_asked_for_before_anything_starts(self, bench: Bench):
        with pytest.raises(UsageError, match="TINY_API_KEY"):
            await bench.launcher.start(bench.spec, {"PATH": os.environ["PATH"]})
        assert await bench.launcher.inspect(bench.spec) is None

    async def test_what_runs_as_configured_can_be_recreated(self, bench: Bench):
        assert await bench.launcher.recreatable(bench.spec) == ""
        await bench.launcher.start(bench.spec, ENVIRON)
        assert await bench.launcher.recreatable(bench.spec) == ""


def _kept(home: Home) -> list[bytes]:
    return [file.read_bytes() for file in home.root.rglob("*") if file.is_file()]


def _proc(pid: int | None, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


async def gone(launcher: Launcher, spec: LaunchSpec) -> bool:
    return await launcher.inspect(spec) is None


async def until(condition, timeout_s: float = 15.0):
    """Poll an awaitable condition; fails the test when it does not come true."""
    deadline = time.monotonic() + timeout_s
    while not (value := await condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)
    return value


async def listening(port: int) -> None:
    async def answers() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return True
        return False

    await until(answers)


def is_alive(pid: int | None) -> bool:
    from pitstop.launch import proc

    process = proc.read(pid) if pid else None
    return process is not None and not process.is_dead


def tiny(port: int, *how: str, python: str = sys.executable) -> tuple[str, ...]:
    return (python, "-I", "-S", str(TINY), str(port), *how)


@contextlib.asynccontextmanager
async def cleaned(bench: Bench) -> AsyncIterator[Bench]:
    try:
        yield bench
    finally:
        await bench.launcher.stop(bench.spec)


def running_pid(running: Running | None) -> int:
    assert running is not None
    assert running.pid is not None
    return running.pid
