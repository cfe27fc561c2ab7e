"""Runs tested code where it can reach nothing: a container, or bubblewrap; never on the host itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from pitstop.core.config.quality import Sandbox
from pitstop.core.errors import PitstopError
from pitstop.rulers.quality.sandbox_argv import Mode, bubblewrap_argv, container_argv, modes_for

OUTPUT_LIMIT = 2**20  # bytes of results; the largest right one has a few thousand
_START_S = 60.0  # for a container to start on a busy box
_LAST_WORDS_S = 20.0  # for its results and its end, beyond the time for the code itself
_READY = b"ready\n"
_NO_IMAGE = re.compile(r"no such image|unable to find image|image not known", re.IGNORECASE)
_CLIENTS_NEED = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST", "XDG_RUNTIME_DIR")


class SandboxFailed(PitstopError):
    """The sandbox itself did not work: nothing was learnt about the code."""


@dataclass(frozen=True)
class Ran:
    """What the tested code gave, call by call; `stopped` says why there is nothing (time, size, an error's name)."""

    results: tuple[dict[str, Any], ...] = ()
    stopped: str = ""


@dataclass(frozen=True)
class Box:
    """A sandbox that was tried and works."""

    mode: Mode
    settings: Sandbox

    async def run(self, code: str, function: str, calls: Sequence[Sequence[Any]]) -> Ran:
        """Run `code` and call `function` with each of `calls`. SandboxFailed when the sandbox did not start."""
        limit_s = float(self.settings.time_limit)
        order = {
            "code": code, "function": function, "calls": calls, "time_limit_s": limit_s, "output_limit": OUTPUT_LIMIT,
            "memory_bytes": self.settings.memory_mib * 2**20,
        }  # fmt: skip
        name = f"pitstop-quality-{secrets.token_hex(6)}"
        argv = _argv(self.mode, self.settings, name)
        try:
            talk = await _converse(argv, msgspec.json.encode(order), _START_S, limit_s + _LAST_WORDS_S)
        except BaseException:
            await self._remove(name)
            raise
        if not talk.said.startswith(_READY):
            await self._remove(name)
            why = f"was given up after {_START_S:g} s" if talk.given_up else self._why(talk.complaint)
            raise SandboxFailed(f"{self.mode} did not start the tests: {why}.")
        results = talk.said.removeprefix(_READY)
        if talk.given_up:
            await self._remove(name)
        if talk.given_up and not results:  # the tested code did something to what keeps its time
            return Ran(stopped="the time was up")
        return read_results(results, len(calls))

    def _why(self, complaint: bytes) -> str:
        said = _last_line(complaint) or "it said nothing"
        missing = self.mode is not Mode.BUBBLEWRAP and _NO_IMAGE.search(said)
        return f"{said}; get the image: {self.mode} pull {self.settings.image}" if missing else said

    async def _remove(self, name: str) -> None:
        """A container outlives the client that started it; it would end by itself when the code's time is up."""
        if self.mode is not Mode.BUBBLEWRAP:
            with contextlib.suppress(SandboxFailed, TimeoutError):
                await _converse([self.mode.value, "rm", "--force", name], b"", 20.0, 5.0)


async def find_sandbox(settings: Sandbox) -> Box | str:
    """The first sandbox that is allowed and really runs code; else why there is none, in a sentence."""
    reasons = []
    for mode in modes_for(settings):
        box = Box(mode, settings)
        try:
            ran = await box.run("def probe(n):\n    return n * 7\n", "probe", [[6]])
        except SandboxFailed as failed:
            reasons.append(failed.message)
            continue
        if ran.results == ({"value": 42},):
            return box
        reasons.append(f"{mode} ran a probe and gave {ran}")
    return " ".join(reasons) or "the configuration allows none (quality.sandbox.use)."


def read_results(said: bytes, calls: int) -> Ran:
    """What came out, whoever wrote it: anything but a list of as many results is none at all."""
    try:
        told = msgspec.json.decode(said)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return Ran(stopped="the code ended without results" if not said.strip() else "the results are no JSON")
    if told in ("time", "size"):
        return Ran(stopped="the time was up" if told == "time" else "it wrote too much")
    if isinstance(told, dict) and isinstance(told.get("failed"), list):
        return Ran(stopped=f"the code failed with {str(told['failed'][0])[:60] if told['failed'] else 'an error'}")
    if not isinstance(told, list) or len(told) != calls or not all(isinstance(one, dict) for one in told):
        return Ran(stopped="the results are not one per test")
    return Ran(tuple(told))


def _argv(mode: Mode, settings: Sandbox, name: str) -> list[str]:
    if mode is Mode.BUBBLEWRAP:
        return bubblewrap_argv(settings, _program(), as_root=os.geteuid() == 0)
    return container_argv(mode, settings, name, _program())


@cache
def _program() -> str:
    return (files("pitstop.rulers.quality") / "sandbox_program.py").read_text("utf-8")


@dataclass
class Talk:
    """What a program said on its two outputs, and whether it was ended because its time was up."""

    said: bytes = b""
    complaint: bytes = b""
    given_up: bool = False


async def _converse(argv: Sequence[str], said: bytes, start_s: float, run_s: float) -> Talk:
    """Run to the end and read at most so much; SandboxFailed when the program is missing.

    It has `start_s` to say its first word, and then `run_s` more.
    """
    try:
        child = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True, env=_environment(),
        )  # fmt: skip
    except OSError as error:
        raise SandboxFailed(f"{argv[0]} cannot be run: {error.strerror or error}.") from error
    talk = Talk()
    try:
        async with asyncio.timeout(start_s) as limit:
            await asyncio.gather(_tell(child, said), _listen(child.stdout, talk, limit, run_s), _complain(child, talk))
            await child.wait()
    except TimeoutError:
        talk.given_up = True
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
    return talk


def _environment() -> dict[str, str]:
    """What the clients need, and no key: bubblewrap's own environment can be read from within, in its /proc/1."""
    return {name: os.environ[name] for name in _CLIENTS_NEED if name in os.environ}


async def _tell(child: asyncio.subprocess.Process, said: bytes) -> None:
    assert child.stdin is not None
    with contextlib.suppress(ConnectionError, RuntimeError):  # it has ended; uvloop has closed the pipe by then
        child.stdin.write(said)
        await child.stdin.drain()
    child.stdin.close()


async def _listen(stream: asyncio.StreamReader | None, talk: Talk, limit: asyncio.Timeout, run_s: float) -> None:
    """All that it says, of which no more than the limit is kept; its first word begins the time of the code."""
    assert stream is not None
    while part := await stream.read(65536):
        if not talk.said:
            limit.reschedule(asyncio.get_running_loop().time() + run_s)
        talk.said += part[: OUTPUT_LIMIT + len(_READY) - len(talk.said)]


async def _complain(child: asyncio.subprocess.Process, talk: Talk) -> None:
    assert child.stderr is not None
    while part := await child.stderr.read(65536):
        talk.complaint += part[: OUTPUT_LIMIT - len(talk.complaint)]


def _last_line(complaint: bytes) -> str:
    told = [line.strip() for line in complaint.decode(errors="replace").splitlines()]
    lines = [line for line in told if line and "--help" not in line]  # docker ends with where to read on
    return lines[-1][:300].rstrip(".") if lines else ""
