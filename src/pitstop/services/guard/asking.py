"""Asks docker or podman without ever waiting for it: a slow daemon must not delay a reading."""

from __future__ import annotations

import contextlib
import os
import signal
import time

_INSPECT = ("inspect", "--type", "container", "--format", "{{.Id}} {{.State.Pid}}")
_GIVE_UP_S = 20.0
_ID_DIGITS = 64


class Command:
    """One run of a container engine's command line; `poll` tells when it is over, and never blocks."""

    def __init__(self, *argv: str) -> None:
        self.descriptor, write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.descriptor, False)
        self.output = b""
        self.exit_code: int | None = None
        self._began_s = time.monotonic()
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, write_end, 1),
            (os.POSIX_SPAWN_DUP2, write_end, 2),
        ]
        try:
            self._pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)
        except OSError as error:
            self._pid = 0
            self.exit_code, self.output = 127, f"{argv[0]}: {error.strerror}".encode()
        finally:
            os.close(write_end)

    def poll(self) -> bool:
        """Take in what came; True when the command has ended, or was ended because it took too long."""
        if self.exit_code is not None:
            return True
        with contextlib.suppress(BlockingIOError):
            while block := os.read(self.descriptor, 4096):
                self.output = (self.output + block)[-4096:]
        if time.monotonic() - self._began_s > _GIVE_UP_S:
            os.kill(self._pid, signal.SIGKILL)
            self.output += b"\ndid not answer in time"
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is not None

    def close(self) -> None:
        os.close(self.descriptor)

    @property
    def words(self) -> str:
        """What it said, as one line."""
        return " ".join(self.output.decode("utf-8", "replace").split())


def inspect(binary: str, reference: str) -> Command:
    return Command(binary, *_INSPECT, reference)


def kill(binary: str, reference: str) -> Command:
    """For the books: a container that is killed behind the daemon's back is restarted by its policy."""
    return Command(binary, "kill", reference)


def answer(command: Command) -> tuple[str, int] | None:
    """The id and first process of a container that runs; None otherwise."""
    if command.exit_code != 0:
        return None
    for line in command.output.decode("utf-8", "replace").splitlines():  # a client may write warnings beside it
        words = line.split()
        if len(words) == 2 and len(words[0]) == _ID_DIGITS and words[1].isdigit() and words[1] != "0":
            return words[0], int(words[1])
    return None
