"""Which launcher starts an engine."""

from __future__ import annotations

from collections.abc import Callable

from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.launch.compose import ComposeLauncher
from pitstop.launch.docker import DockerLauncher
from pitstop.launch.launcher import Launcher, LaunchSpec
from pitstop.launch.process import ProcessLauncher
from pitstop.launch.script import ScriptLauncher
from pitstop.launch.systemd import SystemdLauncher

_LAUNCHERS: dict[str, Callable[[Home], Launcher]] = {
    "process": ProcessLauncher,
    "docker": DockerLauncher,
    "script": ScriptLauncher,
    "compose": ComposeLauncher,
    "systemd": SystemdLauncher,
}


def launcher_for(spec: LaunchSpec, home: Home) -> Launcher:
    """The launcher of a launch value, which may come from a configuration or from a trial's journal."""
    launcher = _LAUNCHERS.get(spec.launcher)
    if launcher is None:
        raise UsageError(
            f"engine {spec.engine}: there is no launcher {spec.launcher!r}.",
            hint="A journal of a later version of pitstop needs that version to restore it.",
        )
    return launcher(home)
