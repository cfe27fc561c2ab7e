"""Whether an engine's port is free, its own, or somebody else's."""

from __future__ import annotations

import asyncio

from pitstop.core.errors import UsageError
from pitstop.launch import cgroup, ports, proc
from pitstop.launch.container import Container
from pitstop.launch.launcher import LaunchSpec
from pitstop.launch.ports import Listener

# What listens on the host for a container with published ports.
_FORWARDERS = ("docker-proxy", "dockerd", "rootlessport", "rootlesskit", "conmon", "slirp4netns", "pasta", "netavark")
_FREE_WITHIN_S = 5.0
_POLL_S = 0.05


def refuse_taken_port(spec: LaunchSpec) -> None:
    """UsageError naming who holds the engine's port."""
    taken = ports.listeners(spec.port, spec.host)
    if taken:
        raise UsageError(
            f"port {spec.port} of engine {spec.engine} is taken by {' and '.join(str(one) for one in taken)}.",
            hint="Stop that program, or give the engine another port in its base_url and its command.",
        )


async def port_free(spec: LaunchSpec) -> None:
    """Wait a little for the port of an engine whose processes are gone; who holds it then is somebody else."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _FREE_WITHIN_S
    while await asyncio.to_thread(ports.listeners, spec.port, spec.host):
        if loop.time() > deadline:
            return
        await asyncio.sleep(_POLL_S)


def strangers(spec: LaunchSpec, found: Container | None) -> str:
    """Who listens on the engine's port without being `found`, or ""."""
    others = [one for one in ports.listeners(spec.port, spec.host) if not _serves(one, spec, found)]
    return " and ".join(str(one) for one in others)


def _serves(listener: Listener, spec: LaunchSpec, found: Container | None) -> bool:
    if found is None or not found.is_up:
        return False
    if not listener.pids:  # root's, and we are not root: nothing can be said against it
        return True
    inside = {process.pid for process in cgroup.processes_of(found.id)}
    forwarded = spec.port in found.published_ports and all(_forwards(pid) for pid in listener.pids)
    return forwarded or bool(inside & set(listener.pids))


def _forwards(pid: int) -> bool:
    process = proc.read(pid)
    return process is not None and process.name.startswith(tuple(name[:15] for name in _FORWARDERS))
