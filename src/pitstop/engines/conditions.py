"""The state of the box around a run, one snapshot before and one after. What cannot be read is None, never zero."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import msgspec

from pitstop.engines.nvidia_smi import Gpu, read_gpus
from pitstop.engines.procfs import Kernel, read_kernel


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the box. `gpus` is None where no nvidia-smi answers, empty where it lists none."""

    at: str  # ISO 8601, UTC
    kernel: Kernel
    gpus: tuple[Gpu, ...] | None = None
    gpu_error: str = ""  # why `gpus` is None; empty on a box that has no nvidia-smi


async def snapshot(
    now: datetime, *, procfs: Path = Path("/proc"), nvidia_smi: str = "nvidia-smi", timeout_s: float = 3.0
) -> Conditions:
    """Look at the kernel and the GPUs once, within about `timeout_s`. Never raises."""
    kernel, (gpus, error) = await asyncio.gather(
        asyncio.to_thread(read_kernel, procfs), read_gpus(nvidia_smi, timeout_s=timeout_s)
    )
    return Conditions(at=now.isoformat(timespec="milliseconds"), kernel=kernel, gpus=gpus, gpu_error=error)
