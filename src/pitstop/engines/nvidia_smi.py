"""Clocks, power, temperature and throttling through nvidia-smi, which may be missing, hang, or know half of it."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from typing import BinaryIO

import msgspec

_MAX_BYTES = 256 * 2**10
# One name of each pair is unknown to a driver that is too new or too old, and then nvidia-smi answers nothing at all.
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active", "")
_FIELDS = ("index", "clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "utilization.gpu", "memory.used")
# Bits of the reasons mask (NVML's nvmlClocksEventReason constants). Idle and application clocks are no throttling.
_SLOWED = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x20: "software thermal slowdown", 0x40: "hardware thermal slowdown",
    0x80: "power brake",
}  # fmt: skip


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. None: `[N/A]`, `[Not Supported]` or no such field here."""

    index: int | None = None
    name: str | None = None
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    utilization: float | None = None  # a fraction of one
    memory_used_bytes: int | None = None
    slowed_by: tuple[str, ...] | None = None  # empty: by nothing


def read_gpus(binary: str = "nvidia-smi", *, timeout_s: float = 3.0) -> tuple[tuple[Gpu, ...] | None, str]:
    """Every GPU, or None and the reason; the reason is empty where there is no nvidia-smi at all. Never raises."""
    if shutil.which(binary) is None:
        return None, ""
    until, said = time.monotonic() + timeout_s, ""
    try:
        for reasons in _REASONS:
            code, said = _ask(binary, reasons, max(0.0, until - time.monotonic()))
            if code == 0:
                return parse_gpus(said, with_reasons=bool(reasons)), ""
    except subprocess.TimeoutExpired:
        return None, f"{binary} did not answer within {timeout_s:g} s"
    except OSError as error:
        return None, f"{binary} could not be run: {error.strerror or error}"
    return None, f"{binary} failed: {' '.join(said.split())[:200] or 'without a word'}"


def parse_gpus(text: str, *, with_reasons: bool) -> tuple[Gpu, ...]:
    """Lines of `--format=csv,noheader,nounits` in the order of `_FIELDS`, reasons if asked for, and the name last."""
    columns = len(_FIELDS) + with_reasons
    rows = ([cell.strip() for cell in line.split(",", columns)] for line in text.splitlines())
    return tuple(_gpu(row, with_reasons=with_reasons) for row in rows if len(row) == columns + 1)


def _gpu(row: list[str], *, with_reasons: bool) -> Gpu:
    index, sm, memory, power, temperature, utilization, used = (_number(cell) for cell in row[: len(_FIELDS)])
    return Gpu(
        index=None if index is None else int(index),
        name=row[-1] if row[-1] and not row[-1].startswith("[") else None,
        sm_mhz=sm,
        memory_mhz=memory,
        power_w=power,
        temperature_c=temperature,
        utilization=None if utilization is None else utilization / 100,
        memory_used_bytes=None if used is None else int(used * 2**20),
        slowed_by=_slowed(row[len(_FIELDS)]) if with_reasons else None,
    )


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _slowed(cell: str) -> tuple[str, ...] | None:
    if not re.fullmatch(r"0x[0-9a-fA-F]{1,16}", cell):
        return None
    mask = int(cell, 16)
    return tuple(name for bit, name in _SLOWED.items() if mask & bit)


def _ask(binary: str, reasons: str, timeout_s: float) -> tuple[int, str]:
    """Run it with a file for output: a pipe would stay open for as long as a hanging child of it lives."""
    fields = ",".join((*_FIELDS, *([reasons] if reasons else []), "name"))
    argv = (binary, f"--query-gpu={fields}", "--format=csv,noheader,nounits")
    with tempfile.TemporaryFile() as output:
        asked = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            return asked.wait(timeout_s), _start_of(output)
        finally:
            _end(asked)


def _end(asked: subprocess.Popen[bytes]) -> None:
    """Kill what still runs, a wrapper script's children too. What hangs in the driver is waited for only briefly."""
    if asked.poll() is None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            os.killpg(asked.pid, signal.SIGKILL)
            asked.wait(0.5)


def _start_of(output: BinaryIO) -> str:
    output.seek(0)
    return output.read(_MAX_BYTES).decode("utf-8", "replace")
