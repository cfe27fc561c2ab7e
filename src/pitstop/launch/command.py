"""Run other programs, given as argv values: the one place that does, with a typed reason when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pitstop.core.errors import Unreachable
from pitstop.core.secrets import redacted
from pitstop.launch.launcher import LaunchSpec

_MAX_OUTPUT = 8 * 2**20  # bytes of each stream that are kept; an inspect of a container has about 10 kB


class Failure(StrEnum):
    """Why a command did not do what it was told."""

    MISSING = "missing"  # there is no such program
    DAEMON_DOWN = "daemon-down"  # the program is there, what it talks to is not
    FORBIDDEN = "forbidden"  # this user may not
    NOT_FOUND = "not-found"  # no such container, image, unit or service
    NAME_TAKEN = "name-taken"
    REMOVAL_RUNNING = "removal-running"
    PORT_TAKEN = "port-taken"
    TIMED_OUT = "timed-out"
    KILLED = "killed"  # by a signal, before it had said anything about what it was asked
    NOT_UNDERSTOOD = "not-understood"  # it answered, in no form that is known
    REFUSED = "refused"  # every other exit code but zero


class CommandFailed(Unreachable):
    """A program that could not be run, or that said no; `said` is what it wrote to stderr."""

    def __init__(self, failure: Failure, argv: Sequence[str], said: str, *, code: int | None = None) -> None:
        self.failure, self.argv, self.said, self.code = failure, tuple(argv), said.strip(), code
        super().__init__(_sentence(failure, argv, self.said, code), hint=_HINTS.get(failure, ""))


@dataclass(frozen=True)
class Output:
    code: int
    out: str
    err: str


async def run(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    timeout_s: float,
    cwd: str = "",
) -> Output:
    """Run to the end; CommandFailed when it cannot be run, fails, or takes too long (then it is killed).

    The end is that of the program itself: what it leaves running (Podman's conmon, a script's daemon) may hold its
    streams for days, so that they are no pipes whose end would be waited for.
    """
    with _kept() as out, _kept() as err:
        child = await _begin(argv, environ, cwd, out, err)
        try:
            await asyncio.wait_for(child.wait(), timeout_s)
        except TimeoutError as error:
            raise CommandFailed(Failure.TIMED_OUT, argv, f"no answer within {timeout_s:g} s") from error
        finally:
            if child.returncode is None:
                await _kill(child)
        output = Output(child.returncode or 0, _text(out), _text(err))
    if output.code != 0:
        failure = Failure.KILLED if output.code < 0 else classify(output.err)
        raise CommandFailed(failure, argv, output.err or output.out, code=output.code)
    return output


async def _begin(
    argv: Sequence[str], environ: Mapping[str, str], cwd: str, out: int, err: int
) -> asyncio.subprocess.Process:
    try:
        # A session of its own: Ctrl-C reaches pitstop, which decides whether this command is to be finished.
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=dict(environ),
            cwd=cwd or None,
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CommandFailed(Failure.MISSING, argv, str(error)) from error
    except OSError as error:
        raise CommandFailed(Failure.FORBIDDEN, argv, str(error)) from error


@contextlib.contextmanager
def _kept() -> Iterator[int]:
    """A file in memory, which a full disk does not refuse."""
    descriptor = os.memfd_create("output")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def printed_version(spec: LaunchSpec) -> str | None:
    """The last line that the engine's version command prints, run beside it; programs warn before they answer."""
    if not spec.version_argv:
        return None
    try:
        done = await run(spec.version_argv, environ={**spec.base_env, **spec.env}, timeout_s=60.0, cwd=spec.cwd)
    except CommandFailed:
        return None
    lines = [line.strip() for line in done.out.splitlines() if line.strip()]
    return lines[-1] if lines else None


def classify(said: str) -> Failure:
    """What docker, podman, compose or systemctl mean by what they wrote to stderr. Pure."""
    text = said.lower()
    return next((failure for phrase, failure in _PHRASES if phrase in text), Failure.REFUSED)


def shown(argv: Sequence[str]) -> str:
    """The command as a person could type it, without secrets."""
    return shlex.join(redacted(argv))


# From the sources of moby (daemon, client), podman and systemd; the first phrase that occurs decides.
_PHRASES = (
    ("permission denied while trying to connect", Failure.FORBIDDEN),
    ("cannot connect to the docker daemon", Failure.DAEMON_DOWN),
    ("error during connect", Failure.DAEMON_DOWN),
    ("cannot connect to podman", Failure.DAEMON_DOWN),
    ("unable to connect to podman", Failure.DAEMON_DOWN),
    ("failed to connect to bus", Failure.DAEMON_DOWN),
    ("system has not been booted with systemd", Failure.DAEMON_DOWN),
    ("removal of container", Failure.REMOVAL_RUNNING),
    ("is already in progress", Failure.REMOVAL_RUNNING),
    ("is already in use by", Failure.NAME_TAKEN),
    ("port is already allocated", Failure.PORT_TAKEN),
    ("address already in use", Failure.PORT_TAKEN),
    ("no such", Failure.NOT_FOUND),
    ("image not known", Failure.NOT_FOUND),
    ("unable to find image", Failure.NOT_FOUND),
    ("could not be found", Failure.NOT_FOUND),
    ("not loaded", Failure.NOT_FOUND),
    ("access denied", Failure.FORBIDDEN),
    ("interactive authentication required", Failure.FORBIDDEN),
)
_HINTS = {
    Failure.MISSING: "Install it, or name another one in the engine's launch.",
    Failure.DAEMON_DOWN: "Start it (systemctl start docker); after a trial, run `pitstop trial recover`.",
    Failure.FORBIDDEN: "Run pitstop as a user who may do this, for example a member of the group docker.",
}


def _sentence(failure: Failure, argv: Sequence[str], said: str, code: int | None) -> str:
    what = f"`{shown(argv[:2])}`"
    detail = f": {_last_lines(said)}" if said else "."
    if failure is Failure.MISSING:
        return f"{argv[0]} cannot be run{detail}"
    if failure is Failure.TIMED_OUT:
        return f"{what} was given up{detail}"
    if failure is Failure.NOT_UNDERSTOOD:
        return f"{what} answered what is not understood{detail}"
    if failure is Failure.KILLED:
        return f"{what} was killed by signal {-(code or 0)}{detail}"
    return f"{what} failed{f' with exit code {code}' if code is not None else ''}{detail}"


def _last_lines(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and "docker run --help" not in line]
    return " ".join(" ".join(redacted(line.split(" "))) for line in lines[-3:])


async def _kill(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(child.wait(), 5.0)


def _text(descriptor: int) -> str:
    return os.pread(descriptor, _MAX_OUTPUT, 0).decode(errors="replace")
