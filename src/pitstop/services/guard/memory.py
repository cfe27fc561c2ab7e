"""Reads `/proc/meminfo`, `vmstat` and `pressure/memory` through descriptors opened at the start, into one buffer.

Under another root (`--procfs DIR`, recorded traces) files are opened anew each time, because a recorder may replace
them. A file that is missing, torn or nonsense gives None for what it would have said, never zero.
"""

from __future__ import annotations

import os

from pitstop.decisions.guard import Reading

_KIB = 1024  # "kB" in meminfo is KiB
_BUFFER_BYTES = 16384


class MemoryReader:
    """One reading at a time; no exception leaves `read`."""

    def __init__(self, procfs: str = "/proc") -> None:
        self._meminfo = _File(procfs, "meminfo")
        self._vmstat = _File(procfs, "vmstat")
        self._pressure = _File(procfs, "pressure/memory")

    def read(self) -> Reading:
        meminfo, vmstat, pressure = self._meminfo.read(), self._vmstat.read(), self._pressure.read()
        return Reading(
            available_bytes=_kib(meminfo, b"MemAvailable:"),
            free_bytes=_kib(meminfo, b"MemFree:"),
            swap_total_bytes=_kib(meminfo, b"SwapTotal:"),
            swap_free_bytes=_kib(meminfo, b"SwapFree:"),
            psi_some_avg10=_average(pressure, b"some"),
            psi_full_avg10=_average(pressure, b"full"),
            pages_swapped_out=_count(vmstat, b"pswpout"),
            major_faults=_count(vmstat, b"pgmajfault"),
        )

    def close(self) -> None:
        for file in (self._meminfo, self._vmstat, self._pressure):
            file.close()


class _File:
    def __init__(self, procfs: str, name: str) -> None:
        self._path = f"{procfs}/{name}"
        self._buffer = bytearray(_BUFFER_BYTES)
        self._kept = _open(self._path) if procfs == "/proc" else None

    def read(self) -> bytes:
        descriptor = self._kept if self._kept is not None else _open(self._path)
        if descriptor is None:
            return b""
        try:
            return b"\n" + bytes(memoryview(self._buffer)[: os.preadv(descriptor, (self._buffer,), 0)])
        except OSError:
            return b""
        finally:
            if descriptor is not self._kept:
                os.close(descriptor)

    def close(self) -> None:
        if self._kept is not None:
            os.close(self._kept)


def _open(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None


def _line(text: bytes, key: bytes) -> list[bytes]:
    """The words behind `key` at a line's start; empty when the line is missing."""
    start = text.find(b"\n" + key)
    if start < 0:
        return []
    end = text.find(b"\n", start + 1)
    return text[start + 1 + len(key) : end if end >= 0 else len(text)].split()


def _kib(text: bytes, key: bytes) -> int | None:
    words = _line(text, key)  # a torn line has no unit, so half a number is never taken for a whole one
    return int(words[0]) * _KIB if len(words) == 2 and _whole(words[0]) and words[1] == b"kB" else None


def _count(text: bytes, key: bytes) -> int | None:
    words = _line(text, key + b" ")
    return int(words[0]) if len(words) == 1 and _whole(words[0]) else None


def _whole(word: bytes) -> bool:
    return word.isdigit() and len(word) < 20


def _average(text: bytes, kind: bytes) -> float | None:
    for word in _line(text, kind + b" "):
        if word.startswith(b"avg10="):
            try:
                return float(word[6:])
            except ValueError:
                return None
    return None
