"""`with = "systemd"`: a unit that exists already; knobs reach it by a drop-in that a reboot removes.

Defaults stay production: the drop-in lies under /run, so that a variant cannot survive the machine that tried it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch import cgroup, command, container, environment, known, ports, proc, taken, unit
from pitstop.launch.command import CommandFailed
from pitstop.launch.container import Container
from pitstop.launch.containers import engine_of, image_digest, version_inside
from pitstop.launch.launcher import LaunchSpec, Running
from pitstop.launch.lock import locked
from pitstop.launch.unit import Unit

_QUICK_S = 30.0
_APPEARS_WITHIN_S = 60.0
_POLL_S = 0.2


class SystemdLauncher:
    """Starts and stops one unit of the system's or the user's manager."""

    def __init__(self, home: Home, run: Path | None = None) -> None:
        self._home = home
        self._run = run

    async def start(self, spec: LaunchSpec, environ: Mapping[str, str]) -> Running:
        """Write the drop-in if knobs are turned, start the unit, and wait until its process exists."""
        secrets = environment.secret_values(spec, environ)
        with locked(self._home, spec.engine):
            if (running := await self.inspect(spec)) is not None:
                raise UsageError(
                    f"engine {spec.engine} is already up: unit {spec.name}, pid {running.pid}.",
                    hint=f"Stop it first: pitstop down {spec.engine}.",
                )
            await asyncio.to_thread(taken.refuse_taken_port, spec)
            await self._set_drop_in(spec, unit.drop_in(spec.env, bool(spec.overrides), secrets), secrets)
            try:
                await self._systemctl(spec, "reset-failed", spec.name, may_fail=True)
                await self._systemctl(spec, "start", "--no-block", spec.name)
            except CommandFailed as failed:
                raise EngineFailed(
                    f"unit {spec.name} could not be started: {failed.message}", hint=failed.hint
                ) from failed
            return await self._appeared(spec)

    async def stop(self, spec: LaunchSpec) -> None:
        """Stop the unit, wait until its processes are gone, and take the drop-in away."""
        with locked(self._home, spec.engine):
            seen = await self._unit(spec)
            if seen.is_loaded:
                await self._systemctl(spec, "stop", spec.name, timeout_s=spec.stop_timeout_s + _QUICK_S)
                await self._empty(spec)
            await self._set_drop_in(spec, "", {})
            await taken.port_free(spec)

    async def inspect(self, spec: LaunchSpec) -> Running | None:
        seen = await self._unit(spec)
        if not seen.is_up:
            return None
        found = await self.container(spec)
        if found is not None and not found.is_up:
            return None
        process = proc.read(seen.main_pid)
        what = container.configured(found, spec.engine) if found else unit.seen(seen)
        return Running(
            engine=spec.engine,
            fingerprint=known.fingerprint(self._home, spec, what, seen.files),
            started_at=found.state.started_at if found else proc.started_at(process) if process else "",
            pid=found.state.pid if found else seen.main_pid or None,
            container_id=found.id if found else None,
            image_digest=await image_digest(engine_of(spec), spec, found) if found else None,
        )

    async def recreatable(self, spec: LaunchSpec) -> str:
        """Why starting the unit again would not bring back what runs, or why something else would bring it back."""
        return environment.unset_secrets(spec) or unit.why_not(await self._unit(spec), spec.env)

    async def startable(self, spec: LaunchSpec) -> str:
        seen = await self._unit(spec)
        missing = "" if seen.is_loaded else f"there is no unit {spec.name} ({seen.load or 'unknown'})."
        return environment.unset_secrets(spec) or missing

    async def remembered(self, spec: LaunchSpec) -> LaunchSpec:
        return spec

    async def foreign_listener(self, spec: LaunchSpec) -> str:
        found = await self.container(spec)
        if found is not None:
            return await asyncio.to_thread(taken.strangers, spec, found)
        inside = {process.pid for process in await asyncio.to_thread(cgroup.processes_of, spec.name)}
        others = [one for one in ports.listeners(spec.port, spec.host) if one.pids and not inside & set(one.pids)]
        return " and ".join(str(one) for one in others)

    async def exit_state(self, spec: LaunchSpec) -> int | None:
        seen = await self._unit(spec)
        return None if seen.is_up else seen.exit_state

    async def version(self, spec: LaunchSpec) -> str | None:
        name = spec.options.get("container")
        if name:
            return await version_inside(engine_of(spec), spec, name)
        return await command.printed_version(spec)

    async def container(self, spec: LaunchSpec) -> Container | None:
        name = spec.options.get("container")
        return await engine_of(spec).inspect(name) if name else None

    def log_path(self, spec: LaunchSpec) -> Path | None:
        """The journal keeps it; there is no file."""
        del spec
        return None

    async def log_tail(self, spec: LaunchSpec, lines: int = 20) -> list[str]:
        user = ["--user"] if spec.options.get("user") else []
        argv = ["journalctl", *user, "--unit", spec.name, "--lines", str(lines), "--output", "cat", "--no-pager"]
        try:
            done = await command.run(argv, environ=spec.base_env, timeout_s=_QUICK_S)
        except CommandFailed:
            return []
        return [line for line in done.out.splitlines() if line.strip()][-lines:]

    async def _unit(self, spec: LaunchSpec) -> Unit:
        said = await self._systemctl(spec, "show", f"--property={','.join(unit.PROPERTIES)}", spec.name)
        return unit.parse(said)

    async def _appeared(self, spec: LaunchSpec) -> Running:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _APPEARS_WITHIN_S
        while (running := await self.inspect(spec)) is None:
            seen = await self._unit(spec)
            if seen.active == "failed" or loop.time() > deadline:
                lines = "\n".join(f"  {line}" for line in await self.log_tail(spec))
                raise EngineFailed(
                    f"unit {spec.name} did not start: {seen.active} ({seen.result}).", hint=f"Its journal:\n{lines}"
                )
            await asyncio.sleep(_POLL_S)
        return running

    async def _empty(self, spec: LaunchSpec) -> None:
        """A unit with KillMode=process leaves children behind; they are the engine too."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + spec.stop_timeout_s
        while left := await asyncio.to_thread(cgroup.processes_of, spec.name):
            if loop.time() > deadline:
                await self._systemctl(spec, "kill", "--signal=SIGKILL", "--kill-whom=all", spec.name, may_fail=True)
                raise EngineFailed(f"unit {spec.name} is stopped, and left {', '.join(str(one.pid) for one in left)}.")
            await asyncio.sleep(_POLL_S)

    async def _set_drop_in(self, spec: LaunchSpec, text: str, secrets: Mapping[str, str]) -> None:
        """Write or remove the drop-in and the file with the secrets, which only its owner may read."""
        folder = self._place(spec) / f"{spec.name}.d"
        drop_in, secret_file = folder / unit.DROP_IN, folder / unit.SECRETS
        if not text and not drop_in.exists():
            return
        if text:
            folder.mkdir(parents=True, exist_ok=True)
            _write_private(secret_file, unit.environment_file(secrets))
            drop_in.write_text(text.replace(unit.SECRETS_PLACE, str(secret_file)))
        else:
            drop_in.unlink(missing_ok=True)
            secret_file.unlink(missing_ok=True)
        await self._systemctl(spec, "daemon-reload")

    def _place(self, spec: LaunchSpec) -> Path:
        if self._run is not None:
            return self._run
        if spec.options.get("user"):
            return Path(spec.base_env.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")) / "systemd/user"
        return Path("/run/systemd/system")

    async def _systemctl(
        self, spec: LaunchSpec, *words: str, timeout_s: float = _QUICK_S, may_fail: bool = False
    ) -> str:
        user = ["--user"] if spec.options.get("user") else []
        try:
            done = await command.run(["systemctl", *user, *words], environ=spec.base_env, timeout_s=timeout_s)
        except CommandFailed:
            if may_fail:
                return ""
            raise
        return done.out


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
