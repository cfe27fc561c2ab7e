"""What every launcher does with a container: remember its image, end it, keep its log, ask what is inside."""

from __future__ import annotations

import asyncio
import logging
import signal
from datetime import UTC, datetime

import msgspec

from pitstop.core.errors import EngineFailed
from pitstop.core.home import Home
from pitstop.launch import cgroup, container, logfile, proc, tree
from pitstop.launch.command import CommandFailed
from pitstop.launch.container import LABEL_FINGERPRINT, POLICIES_THAT_REVIVE, Container
from pitstop.launch.container_engine import ContainerEngine, registry_digest
from pitstop.launch.launcher import LaunchSpec

_LOG = logging.getLogger(__name__)
_KEPT_LOG_LINES = 20_000
_POLL_S = 0.25
_AFTER_KILL_S = 30.0


def engine_of(spec: LaunchSpec) -> ContainerEngine:
    return ContainerEngine(spec.options.get("binary", "docker"), spec.base_env)


def remember_image(spec: LaunchSpec, found: Container | None) -> LaunchSpec:
    """The launch value with the content of the image that runs, in case its name leads elsewhere later."""
    if found is None or not found.is_up:
        return spec
    return msgspec.structs.replace(spec, options={**spec.options, "image_id": found.image})


async def end(engine: ContainerEngine, found: Container, grace_s: float) -> None:
    """Stop a container and wait until its processes are gone; those that stay are killed by their own numbers."""
    inside = await asyncio.to_thread(cgroup.processes_of, found.id)
    if found.state.running or found.state.restarting:
        await engine.stop(found.id, grace_s)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _AFTER_KILL_S
    while left := [one for one in inside if _still_lives(one)]:
        tree.send(left, signal.SIGKILL)
        if loop.time() > deadline:
            raise EngineFailed(f"processes of container {found.name} survived SIGKILL: {left}.")
        await asyncio.sleep(_POLL_S)


async def hold(engine: ContainerEngine, found: Container) -> None:
    """Switch off a restart policy that would bring a stopped container back in the middle of a test."""
    if found.restart_policy not in POLICIES_THAT_REVIVE or found.host.get("AutoRemove"):
        return
    try:
        await engine.set_restart_policy(found.id, "no")
    except CommandFailed as failed:  # podman before 5.1 cannot; it revives containers only when the machine boots
        _LOG.warning("the restart policy %s of %s stays: %s", found.restart_policy, found.name, failed.message)


async def keep_log(engine: ContainerEngine, home: Home, spec: LaunchSpec, found: Container) -> None:
    """Append the container's log to the engine's own, before the container is removed."""
    try:
        text = await engine.logs(found.id, _KEPT_LOG_LINES)
    except CommandFailed as failed:
        text = f"(the log of container {found.id[:12]} could not be read: {failed.message})\n"
    logfile.keep(
        home.logs / f"{spec.engine}.log",
        spec.engine,
        found.labels.get(LABEL_FINGERPRINT, ""),
        f"{text.rstrip()}\n(ended: {container.exit_phrase(found)})\n",
        datetime.now(UTC),
    )


async def container_log(engine: ContainerEngine, name: str, lines: int) -> list[str]:
    try:
        text = await engine.logs(name, lines)
    except CommandFailed:
        return []
    return [line.rstrip() for line in text.split("\n") if line.strip()][-lines:]


async def version_inside(engine: ContainerEngine, spec: LaunchSpec, name: str) -> str | None:
    if not spec.version_argv:
        return None
    try:
        printed = await engine.execute(name, spec.version_argv)
    except CommandFailed:
        return None
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return lines[-1] if lines else None  # programs warn before they answer


async def image_digest(engine: ContainerEngine, spec: LaunchSpec, found: Container) -> str:
    """The registry's digest of the image that runs, or its own id when it came from no registry."""
    image = await engine.image(found.image)
    return registry_digest(found.image, image[1], spec.image) if image else found.image


def _still_lives(before: proc.Process) -> bool:
    now = proc.read(before.pid)
    return now is not None and now.start_ticks == before.start_ticks and not now.is_dead
