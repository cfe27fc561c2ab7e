"""The state of the box around a run, one snapshot before and one after. What cannot be read is None, never zero."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pitstop.engines.nvidia_smi import Gpu, read_gpus
from pitstop.engines.procfs import Activity, Memory, read_activity, read_memory


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the box. `gpus` is None where no nvidia-smi answers, empty where it lists none."""

    at: str  # ISO 8601, UTC
    memory: Memory
    activity: Activity
    gpus: tuple[Gpu, ...] | None = None
    gpu_error: str = ""  # why `gpus` is None; empty on a box that has no nvidia-smi


def _utc_now() -> datetime:
    return datetime.now(UTC)


def snapshot(
    *,
    procfs: Path = Path("/proc"),
    nvidia_smi: str = "nvidia-smi",
    timeout_s: float = 3.0,
    clock: Callable[[], datetime] = _utc_now,
) -> Conditions:
    """Look at the kernel and the GPUs once, within about `timeout_s`; from a coroutine, in a thread. Never raises.

    Takes 30 ms without a GPU, of which finding kcompactd among the processes is the most.
    """
    gpus, error = read_gpus(nvidia_smi, timeout_s=timeout_s)
    return Conditions(
        at=clock().isoformat(timespec="milliseconds"),
        memory=read_memory(procfs),
        activity=read_activity(procfs),
        gpus=gpus,
        gpu_error=error,
    )
