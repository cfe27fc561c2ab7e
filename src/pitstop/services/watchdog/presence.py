"""What the launcher and the container engine see of an engine, apart from what it answers; above all who ended it."""

from __future__ import annotations

from pitstop.core.errors import PitstopError
from pitstop.core.home import Home
from pitstop.core.instants import epoch_s
from pitstop.decisions.watchdog import Presence
from pitstop.launch import command, record
from pitstop.launch.command import CommandFailed
from pitstop.launch.container import LABEL_FINGERPRINT, POLICIES_THAT_REVIVE, Container
from pitstop.launch.containers import engine_of
from pitstop.launch.launcher import LaunchSpec
from pitstop.services.site import Site

_QUICK_S = 15.0
_BY_HAND = {"stop", "kill"}  # actions that the container engine logs only when somebody asked for them
_EVENT_SLACK_S = 90  # between `docker stop` and the end of a container that takes its whole grace


async def presence_of(site: Site, home: Home) -> tuple[Presence, float | None]:
    """Whether the engine is up, ended by itself or was stopped, and since when it is up (seconds since the epoch)."""
    if site.spec is None or site.launcher is None:
        return Presence.UNKNOWN, None
    try:
        running = await site.launcher.inspect(site.spec)
        if running is not None:
            return Presence.UP, epoch_s(running.started_at)
        return await _why_down(site.spec, home)
    except (PitstopError, OSError):
        return Presence.UNKNOWN, None


async def taken_away(site: Site, home: Home) -> bool:
    """Whether a person ended what pitstop launched at `site`: stopped it, removed it, or put another in its place."""
    if (await presence_of(site, home))[0] is Presence.STOPPED:
        return True
    if site.spec is None or site.spec.launcher != "docker":
        return False
    try:
        found = await engine_of(site.spec).inspect(site.spec.name)
    except (PitstopError, OSError):
        return False
    return found is not None and found.labels.get(LABEL_FINGERPRINT) != site.spec.fingerprint


async def _why_down(spec: LaunchSpec, home: Home) -> tuple[Presence, float | None]:
    name = spec.options.get("container") or (spec.name if spec.launcher == "docker" else "")
    if name:
        return await _container_down(spec, home, name)
    if spec.launcher == "systemd":
        return await _unit_down(spec), None
    # `pitstop down` removes the record; whoever ended the process otherwise left it there.
    noted = record.read(home, spec.engine)
    return (Presence.ENDED if noted is not None else Presence.STOPPED), None


async def _container_down(spec: LaunchSpec, home: Home, name: str) -> tuple[Presence, float | None]:
    found = await engine_of(spec).inspect(name)
    if found is None or found.state.status == "removing":
        # A crash takes a container away only with --rm; everything else that removes one is a person's doing.
        kept = "--rm" not in spec.argv or record.read(home, spec.engine) is None
        return (Presence.STOPPED if kept else Presence.ENDED), None
    if found.state.restarting:
        return Presence.UP, epoch_s(found.state.started_at)  # between two lives of one boot policy
    if _guard_killed(home, spec.engine, epoch_s(found.state.finished_at)):
        return Presence.ENDED, None
    if found.restart_policy in POLICIES_THAT_REVIVE and found.state.status == "exited":
        return Presence.STOPPED, None  # the policy would have revived it, had nobody stopped it
    by_hand = await _ended_by_hand(spec, found)
    return (Presence.STOPPED if by_hand else Presence.ENDED), None


def _guard_killed(home: Home, engine: str, finished_s: float | None) -> bool:
    """Whether our own guard ended it: its `docker kill` looks like a person's, but nobody wanted the engine down."""
    if finished_s is None:
        return False
    try:
        times = [path.stat().st_mtime for path in home.evidence.glob(f"guard-{engine}-*/guard.json")]
    except OSError:
        return False
    return any(-5.0 <= at - finished_s <= _EVENT_SLACK_S for at in times)


async def _ended_by_hand(spec: LaunchSpec, found: Container) -> bool:
    """Whether a stop or a kill was logged around the end. A crash, one with exit 0 included, logs only `die`."""
    finished = epoch_s(found.state.finished_at)
    if finished is None:
        return False
    window = ["--since", f"{finished - _EVENT_SLACK_S:.0f}", "--until", f"{finished + 5:.0f}"]
    binary = engine_of(spec).binary
    action = "{{.Action}}" if binary == "docker" else "{{.Status}}"
    argv = [binary, "events", *window, "--filter", f"container={found.id}", "--format", action]
    try:
        done = await command.run(argv, environ=engine_of(spec).environ, timeout_s=_QUICK_S)
    except CommandFailed:
        return False
    return bool(_BY_HAND & {line.strip().split(":")[0] for line in done.out.splitlines()})


async def _unit_down(spec: LaunchSpec) -> Presence:
    """With `Restart=always` a unit is inactive only because somebody stopped it; a failed one ended by itself."""
    user = ["--user"] if spec.options.get("user") else []
    argv = ["systemctl", *user, "show", spec.name, "--property=ActiveState,Result,Restart,SubState"]
    said = dict(
        line.partition("=")[::2]
        for line in (await command.run(argv, environ=spec.base_env, timeout_s=_QUICK_S)).out.splitlines()
    )
    if said.get("ActiveState") == "failed" or said.get("SubState") == "auto-restart":
        return Presence.ENDED
    return Presence.STOPPED if said.get("Restart") == "always" else Presence.ENDED
