"""The guard's own lean process: `python -I -S -c BOOT SOURCE ORDER`. Imports no package but this one.

Its words go to stderr and its report, as JSON, to stdout; the exit code is the guard's. `pitstop guard` becomes this
process, `up` and `trial` start it beside an engine.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import Any

from pitstop.core.errors import ExitCode
from pitstop.decisions.guard import both_units
from pitstop.services.guard.control import Control
from pitstop.services.guard.loop import GuardLoop
from pitstop.services.guard.order import GuardOrder, GuardVerdict
from pitstop.services.guard.steady import hold_still

_TELL_S = 60.0

_EXIT_CODES = {
    GuardVerdict.CLEAN: ExitCode.DONE,
    GuardVerdict.GONE: ExitCode.DONE,
    GuardVerdict.TRIPPED: ExitCode.GUARD,
    GuardVerdict.REFUSED: ExitCode.USAGE,
    GuardVerdict.INTERRUPTED: ExitCode.INTERRUPTED,
}


def main(order_json: str) -> int:
    """Guard as ordered; returns the exit code."""
    order = GuardOrder.from_json(order_json)
    if order.controlled:
        _close_what_was_handed_down()
    read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    loop = GuardLoop(order, _say, Control(0 if order.controlled else None, read_end))

    def interrupt(_number: int, _frame: Any) -> None:
        loop.interrupt()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    problem = hold_still()
    loop.report.locked = not problem
    if problem:
        _say(f"warning: memory could not be locked ({problem}); raise LimitMEMLOCK or `ulimit -l`, or run as root")
    report = loop.run(lambda: _watching(order))
    if report.tripped and order.after and report.evidence:
        _tell(order.after, report.evidence)
    _say(f"{report.verdict}: {report.reason}")
    _print(1, report.to_json())
    return int(_EXIT_CODES[GuardVerdict(report.verdict)])


def _close_what_was_handed_down() -> None:
    """All but the three streams. uvloop hands a child copies of their ends, which its own children would keep open."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - a guard starts without pathlib
        with contextlib.suppress(OSError):  # the folder's own is gone by now
            if int(name) > 2:
                os.close(int(name))


def _watching(order: GuardOrder) -> None:
    floor, limit = order.policy.min_available_bytes, order.policy.max_swap_growth_bytes
    swap = f", or when swap has grown by {both_units(limit)}" if limit is not None else ""
    _say(f"watching for {order.engine}: kills when MemAvailable is below {both_units(floor)}{swap}")
    if order.controlled:
        _print(1, "watching\n")


def _tell(after: tuple[str, ...], evidence: str) -> None:
    """Incident and notification are another process's work; a guard that cannot have them done has done its own."""
    try:
        to_stderr = [(os.POSIX_SPAWN_DUP2, 2, 1)]
        pid = os.posix_spawn(after[0], (*after, evidence), os.environ, file_actions=to_stderr)
    except OSError as error:
        _say(f"warning: nobody could be told: {error.strerror}")
        return
    until_s = time.monotonic() + _TELL_S
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > until_s:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            _say("warning: telling took too long and was given up")
            return
        time.sleep(0.05)


def _say(text: str) -> None:
    _print(2, f"guard: {text}\n")


def _print(descriptor: int, text: str) -> None:
    """Write what fits; a reader that went away or a full disk must not end the guard."""
    block = text.encode("utf-8", "replace")
    try:
        while block:
            block = block[os.write(descriptor, block) :]
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
