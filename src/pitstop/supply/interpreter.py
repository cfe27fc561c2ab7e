"""Which Python an engine runs under, as its processes tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pitstop.launch import proc


@dataclass(frozen=True)
class Interpreter:
    """The Python that an engine's process was started with, and what its environment adds to the search path."""

    argv0: str = "python3"
    path: tuple[str, ...] = ()


def interpreter_of(pid: int | None) -> Interpreter:
    """The interpreter as it was called: a venv's `python` finds other files than the one that it links to."""
    for one in _family(pid) if pid is not None else ():
        words = proc.arguments(one)
        if words and Path(words[0]).name.startswith("python"):
            added = (proc.environment(one) or {}).get("PYTHONPATH", "")
            return Interpreter(words[0], tuple(part for part in added.split(":") if part))
    return Interpreter()


def _family(pid: int) -> list[int]:
    """A process and its descendants, parents first."""
    children: dict[int, list[int]] = {}
    for process in proc.processes().values():
        children.setdefault(process.parent, []).append(process.pid)
    family = [pid]
    for member in family:
        family += children.get(member, [])
    return family
