"""What runs that a person's own start script brought up: a container, the process of a pidfile, or by its mark."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

from pitstop.core.home import Home
from pitstop.launch import container, known, proc, record
from pitstop.launch.container import Container
from pitstop.launch.containers import engine_of, image_digest
from pitstop.launch.launcher import OBSERVED, LaunchSpec, Running
from pitstop.launch.mark import Mark
from pitstop.launch.process import ProcessLauncher
from pitstop.launch.tree import Root

SETTLED_S = 2.0  # a shell has become the engine by then


class ScriptsEngine:
    """Looks for it anew each time."""

    def __init__(self, home: Home, process: ProcessLauncher) -> None:
        self._home, self._process = home, process

    async def running(self, spec: LaunchSpec) -> Running | None:
        """What is up under the container's name, the pidfile's number, or the mark; with what it was seen to be."""
        if spec.name:
            found = await self.container(spec)
            return await self._of_container(spec, found) if found is not None and found.is_up else None
        return await asyncio.to_thread(self._of_process, spec)

    async def container(self, spec: LaunchSpec) -> Container | None:
        return await engine_of(spec).inspect(spec.name) if spec.name else None

    def roots(self, spec: LaunchSpec) -> list[Root]:
        """The process that the pidfile names, unless the number was given away after the file was written."""
        if not (name := spec.options.get("pidfile")):
            return []
        path = Path(spec.cwd or ".") / name
        try:
            pid, written_s = int(path.read_text().split()[0]), path.stat().st_mtime
        except (OSError, ValueError, IndexError):
            return []
        process = proc.read(pid)
        if process is None or process.is_dead or proc.started_s(process) > written_s + 1.0:
            return []
        return [Root(pid, process.start_ticks)]

    async def _of_container(self, spec: LaunchSpec, found: Container) -> Running:
        seen = container.configured(found, spec.engine)
        return Running(
            engine=spec.engine,
            fingerprint=known.fingerprint(self._home, spec, seen, _sources(spec)),
            started_at=found.state.started_at,
            pid=found.state.pid,
            container_id=found.id,
            image_digest=await image_digest(engine_of(spec), spec, found),
        )

    def _of_process(self, spec: LaunchSpec) -> Running | None:
        roots = self.roots(spec)
        if not roots:
            return None if "pidfile" in spec.options else self._process.look(spec)
        process = proc.read(roots[0].pid)
        if process is None or process.is_dead:
            return None
        return Running(
            engine=spec.engine,
            fingerprint=self._fingerprint(spec, process),
            started_at=proc.started_at(process),
            pid=process.pid,
        )

    def _fingerprint(self, spec: LaunchSpec, process: proc.Process) -> str:
        """By its command line, and by the turned knobs that its environment holds.

        A process that is only just there may still be the shell that becomes the engine: then only its mark counts.
        """
        environ = proc.environment(process.pid) or {}
        mark, noted = Mark.read(environ), record.read(self._home, spec.engine)
        ordered = noted.spec if mark and noted and noted.spec.fingerprint == mark.fingerprint else spec
        turned = [f"{key}={environ.get(key)}" for key in sorted(ordered.env) if ordered.overrides and key in environ]
        seen = known.digest(*proc.arguments(process.pid), *turned)
        if time.time() - proc.started_s(process) < SETTLED_S:
            if mark is None and not environ and noted is not None:  # in the middle of becoming another program
                return noted.spec.fingerprint
            return mark.fingerprint if mark else OBSERVED + seen
        return known.fingerprint(self._home, ordered, seen, _sources(spec))


def _sources(spec: LaunchSpec) -> list[str]:
    """The files that decide what a script brings up: every word of its command that names a file."""
    words = [shutil.which(spec.argv[0], path=spec.base_env.get("PATH")) or spec.argv[0], *spec.argv[1:]]
    paths = [Path(spec.cwd or ".") / word for word in words]
    return [str(path) for path in paths if path.is_file()]
