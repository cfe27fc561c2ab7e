"""What `pitstop status` shows: engines, and where the memory goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pitstop.services.lifecycle import EngineStatus
    from pitstop.services.memory_table import MemoryTable


def status_record(one: EngineStatus) -> dict[str, Any]:
    return {
        "name": one.name,
        "up": one.running is not None,
        "readiness": one.report.readiness.value,
        "detail": one.report.detail,
        "running": one.running,
        "ordered_fingerprint": one.ordered_fingerprint,
        "drifted": one.drifted,
        "foreign_listener": one.foreign,
    }


def status_table(seen: list[EngineStatus], *, terminal: bool) -> Any:
    from pitstop.cli.tables import listed

    columns = ("engine", "state", "pid", "since", "fingerprint", "note")
    return listed("engines", columns, [_status_row(one) for one in seen], terminal=terminal)


def _status_row(one: EngineStatus) -> tuple[str, ...]:
    running = one.running
    notes = [
        "not as configured" if one.drifted else "",
        f"its port is served by {one.foreign}" if one.foreign else "",
        one.report.detail if running else "",
    ]
    return (
        one.name,
        one.report.readiness.value if running or one.report.models else "down",
        str(running.pid or "") if running else "",
        running.started_at if running else "",
        running.fingerprint if running else "",
        "; ".join(note for note in notes if note),
    )


def memory_lines(memory: MemoryTable, *, terminal: bool) -> list[Any]:
    """Where the memory goes: per engine as the driver and the kernel count it, then the box and the margin."""
    from pitstop.cli.tables import listed

    columns = ("engine", "GPU (driver)", "host", "swapped", "docker stats would say")
    rows = [
        (
            one.engine,
            *map(_size, (one.gpu_bytes, one.host_bytes, one.swapped_bytes, one.docker_stats_bytes)),
        )
        for one in memory.engines
    ]
    box = memory.memory
    lines: list[Any] = [listed("memory", columns, rows, terminal=terminal), ""] if rows else []
    lines.append(
        f"box: {_size(box.available_bytes)} available, {_size(box.page_cache_bytes)} page cache, "
        f"{_size(box.swap_used_bytes)} swapped; {_size(memory.margin_bytes)} above the guard's floor of "
        f"{_size(memory.floor_bytes)}"
    )
    if memory.unowned_gpu_bytes:
        pids = ", ".join(map(str, memory.unowned_gpu_pids))
        lines.append(f"GPU memory of no engine here: {_size(memory.unowned_gpu_bytes)} (process {pids})")
    if any(one.docker_stats_bytes is not None for one in memory.engines):
        lines.append(memory.docker_stats_note)
    return lines


def _size(size_bytes: int | None) -> str:
    from pitstop.core.units import format_size

    return "–" if size_bytes is None else format_size(size_bytes)
