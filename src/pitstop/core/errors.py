"""Every way in which pitstop gives up, with the exit code that goes with it.

    PitstopError
    ├── UsageError               2   an argument or a file that a person has to change
    │   ├── ConfigError          2   pitstop.toml: which file, which key, the nearest known one
    │   └── LeaseHeld            2   somebody else may start and stop engines now
    ├── Unreachable              3   an engine or a registry that does not answer
    │   ├── EngineFailed         3   it was started and died, or did not get ready in time
    │   └── RequestRefused       3   it answered, and said no (401, unknown model, too long)
    ├── Inconclusive             4   undecided, or a figure that is not `ok`
    ├── GuardTripped             5   the memory guard killed what it owns
    ├── NotRestored              6   production is not back, a person is needed
    └── Interrupted            130   Ctrl-C or SIGTERM, after restoring

A message is a sentence: what is wrong, and where. `hint` says what to do next.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The documented exit codes of every command."""

    DONE = 0
    WORSE = 1
    USAGE = 2
    UNREACHABLE = 3
    INCONCLUSIVE = 4
    GUARD = 5
    NOT_RESTORED = 6
    INTERRUPTED = 130


class PitstopError(Exception):
    """A failure that a person can read; `exit_code` is what the command ends with."""

    exit_code: ExitCode = ExitCode.WORSE

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(PitstopError):
    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    pass


class LeaseHeld(UsageError):
    pass


class Unreachable(PitstopError):
    exit_code = ExitCode.UNREACHABLE


class EngineFailed(Unreachable):
    pass


class RequestRefused(Unreachable):
    pass


class Inconclusive(PitstopError):
    exit_code = ExitCode.INCONCLUSIVE


class GuardTripped(PitstopError):
    exit_code = ExitCode.GUARD


class NotRestored(PitstopError):
    exit_code = ExitCode.NOT_RESTORED


class Interrupted(PitstopError):
    exit_code = ExitCode.INTERRUPTED
