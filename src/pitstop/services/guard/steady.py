"""Keeps the guard's own process from waiting for memory: locked, collected, first in line."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os

_MCL_CURRENT_AND_FUTURE = 1 | 2


def hold_still() -> str:
    """Lock all memory, stop the garbage collector, ask for priority; returns why memory could not be locked, or "".

    Priority and the OOM score are wishes: without the right to them the guard works all the same.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    with contextlib.suppress(OSError):
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, b"-1000")
        finally:
            os.close(descriptor)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT_AND_FUTURE) == 0:
        return ""
    return os.strerror(ctypes.get_errno())
