"""The guard's CSV: one row per reading, written by a thread, so that a slow or full disk never delays a reading."""

from __future__ import annotations

import _thread
import contextlib
import os

from pitstop.decisions.guard import MIB, GuardState, Reading

HEADER = (
    "time,mem_available_mib,mem_free_mib,swap_used_mib,swap_growth_mib,psi_some_avg10,psi_full_avg10,"
    "pages_swapped_out,major_faults,owned_processes,event\n"
)
_ROTATE_BYTES = 64 * MIB  # about a week of one row a second; one older file is kept
_STACK_BYTES = 128 * 1024  # the guard's memory is locked, and a default stack would be 8 MiB of it


def row(stamp: str, reading: Reading, state: GuardState, owned: int, event: str) -> str:
    """One line; what is not known is an empty cell."""
    cells = (
        stamp,
        _mib(reading.available_bytes),
        _mib(reading.free_bytes),
        _mib(reading.swap_used_bytes),
        _mib(state.swap_growth_bytes(reading)),
        reading.psi_some_avg10,
        reading.psi_full_avg10,
        reading.pages_swapped_out,
        reading.major_faults,
        owned,
        event,
    )
    return ",".join("" if cell is None else str(cell) for cell in cells) + "\n"


class RowWriter:
    """Rows go into a pipe that never blocks the guard; what does not fit, or the disk refuses, is counted as lost."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.lost = 0
        self.last_error = ""
        self._read_end, self._write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._write_end, False)
        self._done = _thread.allocate_lock()
        self._done.acquire()
        _thread.stack_size(_STACK_BYTES)
        _thread.start_new_thread(self._drain, ())

    def write(self, line: str) -> None:
        try:
            os.write(self._write_end, line.encode())  # below PIPE_BUF, so whole or not at all
        except OSError:
            self.lost += 1

    def close(self, timeout_s: float = 2.0) -> None:
        """Let the thread write what it has, but wait no longer than `timeout_s` for a disk that hangs."""
        os.close(self._write_end)
        self._done.acquire(timeout=timeout_s)

    def _drain(self) -> None:
        descriptor, torn = None, False
        while block := os.read(self._read_end, 65536):
            try:
                descriptor = self._opened(descriptor)
                lead = b"" if os.fstat(descriptor).st_size else HEADER.encode()
                whole = lead + (b"\n" if torn else b"") + block
                torn = os.write(descriptor, whole) < len(whole)
                if torn:
                    raise OSError("only a part of a row could be written")  # noqa: TRY301 - one path for every lost row
            except OSError as error:
                self.lost += block.count(b"\n")
                self.last_error = str(error)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._done.release()

    def _opened(self, descriptor: int | None) -> int:
        if descriptor is not None:
            if os.fstat(descriptor).st_size < _ROTATE_BYTES:
                return descriptor
            os.replace(self._path, f"{self._path}.1")  # noqa: PTH105 - pathlib costs memory here
            os.close(descriptor)
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _mib(size_bytes: int | None) -> int | None:
    return None if size_bytes is None else round(size_bytes / MIB)
