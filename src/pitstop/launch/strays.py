"""Containers that a start script brought up beside the one it was to bring up: under a name of the script's own."""

from __future__ import annotations

import asyncio

from pitstop.launch import cgroup, ports
from pitstop.launch.container import Container
from pitstop.launch.container_engine import ContainerEngine
from pitstop.launch.containers import end, hold
from pitstop.launch.launcher import LaunchSpec


async def end_strays(engine: ContainerEngine, spec: LaunchSpec, before: frozenset[str]) -> list[str]:
    """Stop every container for the engine's port that was not up `before` its script was; returns their names.

    Nobody else knows of them, and one that loads its model takes the port from production minutes later.
    """
    ended = []
    for one in await engine.up() - before:
        found = await engine.inspect(one)
        if found is None or found.name.removeprefix("/") == spec.name:
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
