"""Containers that a start script brought up beside the one it was to bring up: under a name of the script's own.

Who was up before the script is noted until its engine is there, so that the next process can tell whom a script brought
up whose caller was killed.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pitstop.core.durable import remove_durably, write_durably
from pitstop.core.home import Home
from pitstop.core.instants import epoch_s
from pitstop.launch import cgroup, ports
from pitstop.launch.container import Container
from pitstop.launch.container_engine import ContainerEngine
from pitstop.launch.containers import end, hold
from pitstop.launch.launcher import LaunchSpec

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Before:
    """The ids of the containers that were up before a script began, and when that was (seconds since the epoch)."""

    ids: frozenset[str]
    at_s: float


class Bystanders:
    """`Before` of a script that has not brought up its engine yet, on disk."""

    def __init__(self, home: Home, engine: str) -> None:
        self._path: Path = home.engines / f"{engine}.bystanders"

    def note(self, before: Before) -> None:
        """Write it down; a disk that does not take it must not keep production down."""
        try:
            write_durably(self._path, msgspec.json.encode(before))
        except OSError as error:
            _LOG.warning("who was up before the start script could not be written down: %s", error)

    def noted(self) -> Before | None:
        """Of a script whose end nobody saw; None when there is none, or the file cannot be understood."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Before)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def forget(self) -> None:
        try:
            remove_durably(self._path)
        except OSError as error:
            _LOG.warning("%s could not be removed: %s", self._path, error)


async def end_strays(engine: ContainerEngine, spec: LaunchSpec, before: Before, within_s: float) -> list[str]:
    """Stop every container for the engine's port that came up after its script began; returns their names.

    Nobody else knows of them, and one that loads its model takes the port from production minutes later. What came up
    `within_s` seconds or more after the beginning is not the script's any more.
    """
    ended = []
    for one in await engine.up() - before.ids:
        found = await engine.inspect(one)
        if found is None or found.name.removeprefix("/") == spec.name:
            continue
        came_s = epoch_s(found.state.started_at)
        if came_s is not None and came_s - before.at_s >= within_s:
            continue
        if is_for_port(found, spec.port) or await asyncio.to_thread(_listens, found, spec):
            await end(engine, found, spec.stop_timeout_s)
            await hold(engine, found)
            ended.append(found.name.removeprefix("/"))
    return ended


def is_for_port(found: Container, port: int) -> bool:
    """Whether it publishes the port, or its command or a variable called PORT says that it will listen there. Pure.

    A client of the port names it in a URL, and is nobody's stray.
    """
    words = [found.path, *(found.config.get("Cmd") or ())]
    words += [value for key, value in found.environment.items() if key.upper().endswith("PORT")]
    addresses = [word for word in words if "://" not in word]
    named = {part for word in addresses for part in (word, word.rpartition("=")[2], word.rpartition(":")[2])}
    return port in found.published_ports or str(port) in named


def _listens(found: Container, spec: LaunchSpec) -> bool:
    inside = {process.pid for process in cgroup.processes_of(found.id)}
    return any(inside & set(listener.pids) for listener in ports.listeners(spec.port, spec.host))
