"""Which launcher starts an engine."""

from __future__ import annotations

from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.launch.docker import DockerLauncher
from pitstop.launch.launcher import Launcher, LaunchSpec
from pitstop.launch.process import ProcessLauncher


def launcher_for(spec: LaunchSpec, home: Home) -> Launcher:
    """The launcher of a launch value, which may come from a configuration or from a trial's journal."""
    match spec.launcher:
        case "process":
            return ProcessLauncher(home)
        case "docker":
            return DockerLauncher(home)
    raise UsageError(
        f"engine {spec.engine}: there is no launcher {spec.launcher!r}.",
        hint="A journal of a later version of pitstop needs that version to restore it.",
    )
