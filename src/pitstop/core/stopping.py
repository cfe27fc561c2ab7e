"""Ctrl-C, SIGTERM and a closed terminal mean the same: put right what was begun, then end with 130.

Only the first one counts; those that come while it is being followed must not break off the clean-up.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heeded() -> list[signal.Signals]:
    """Those that would stop this process now: not what it was started to ignore (`nohup`), none once it is stopping."""
    if threading.current_thread() is not threading.main_thread():
        return []
    deaf = (signal.SIG_IGN, _noted)
    return [number for number in STOPPING if signal.getsignal(number) not in deaf]


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """A handler: KeyboardInterrupt, once."""
    stop_heeding()
    raise KeyboardInterrupt


def stop_heeding() -> None:
    """From here on they are only taken note of. Programs that are started meanwhile do not inherit that."""
    for number in heeded():
        signal.signal(number, _noted)


def _noted(_number: int, _frame: FrameType | None) -> None:
    pass
