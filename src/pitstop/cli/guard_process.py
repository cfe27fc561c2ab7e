"""The guard's own lean process: `python -I -S -c BOOT SOURCE ORDER`. Imports no package but this one.

Its words go to stderr and its report, as JSON, to stdout; the exit code is the guard's. `pitstop guard` becomes this
process, `up` and `trial` start it beside an engine.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pitstop.core.errors import ExitCode
from pitstop.services.guard.control import Control
from pitstop.services.guard.loop import GuardLoop
from pitstop.services.guard.order import GuardOrder, GuardVerdict
from pitstop.services.guard.steady import hold_still

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
    report = loop.run()
    _print(1, report.to_json())
    return int(_EXIT_CODES[GuardVerdict(report.verdict)])


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
