"""The files that keep a box up: sysctl, drop-ins, units for engines, guard, watchdog, gateway and recovery. Pure.

Which of them `host apply` may install is part of the value: the unit of an engine that pitstop itself starts (docker,
process) would start it again in the middle of a trial, so it is only rendered, for whoever hands the engine to systemd.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pitstop.core.config.engine import DockerLaunch, Engine, SystemdLaunch
from pitstop.core.config.schema import Config
from pitstop.decisions.host import SYSCTL_FILE
from pitstop.launch.plan import plan
from pitstop.services.host.units import command_line, container_of, quoted, unit_of, unit_text

ENVIRONMENT_FILE = "/etc/pitstop/environment"  # NAME=value a line; for what the configuration takes as ${NAME}
_UNITS = PurePosixPath("/etc/systemd/system")
_DETACHED = ("--detach", "-d")
_DAEMON = {"Requires": "docker.service"}  # podman has none
_ORDERED = {"After": "network-online.target docker.service", "Wants": "network-online.target"}


@dataclass(frozen=True)
class Program:
    """What the units run and as whom: absolute paths, known when they are written."""

    pitstop: str
    docker: str
    podman: str
    config: str
    home: str


@dataclass(frozen=True)
class RenderedFile:
    """One file for the box. `applied` is false for what only a person installs."""

    path: str
    text: str
    applied: bool = True


def render(config: Config, program: Program, environ: Mapping[str, str] = os.environ) -> list[RenderedFile]:
    """Every file, in a fixed order; the same configuration gives the same bytes."""
    files = [RenderedFile(SYSCTL_FILE, "vm.compaction_proactiveness = 0\n")]
    for name, engine in config.engine.items():
        files += _engine_files(name, engine, program, environ)
    # What pitstop starts as a process is guarded by `up`; a unit could only wait for a pid that changes at every boot.
    files += [_guard(name, one, program) for name, one in config.engine.items() if container_of(one.launch)]
    files += [_watch(program), _recover(program)]
    if config.gateway is not None:
        files.append(_gateway(program))
    return files


def _engine_files(name: str, engine: Engine, program: Program, environ: Mapping[str, str]) -> Iterator[RenderedFile]:
    unit = unit_of(name, engine)
    managed = isinstance(engine.launch, SystemdLaunch)
    if isinstance(engine.launch, DockerLaunch):
        yield RenderedFile(str(_UNITS / unit), _container_unit(name, engine, program, environ), applied=False)
    if managed or isinstance(engine.launch, DockerLaunch):
        folder = _UNITS / f"{unit}.d"
        yield RenderedFile(str(folder / "restart-always.conf"), _RESTART_ALWAYS, applied=managed)
        yield RenderedFile(str(folder / "startlimit.conf"), _START_LIMIT, applied=managed)


_RESTART_ALWAYS = """\
# vLLM exits with code 0 after EngineDeadError, so on-failure never triggers.
[Service]
Restart=always
RestartSec=30
"""
_START_LIMIT = """\
# At most 5 starts in 10 minutes, so a start that fails at once does not loop forever.
[Unit]
StartLimitIntervalSec=600
StartLimitBurst=5
"""


def _container_unit(name: str, engine: Engine, program: Program, environ: Mapping[str, str]) -> str:
    """`docker run` flag for flag, in the foreground. No --rm: a container that failed keeps its log."""
    spec = plan(name, engine, environ=environ)
    is_podman = spec.options.get("binary") == "podman"
    binary = program.podman if is_podman else program.docker
    whose = ', binary = "podman"' if is_podman else ""
    run = [binary, *(word for word in spec.argv[1:] if word not in _DETACHED)]
    stop_s = round(float(engine.stop_timeout))
    comment = (
        f"With this unit, write under [engine.{name}.launch] in pitstop.toml:\n"
        f'with = "systemd", unit = "{unit_of(name, engine)}", container = "{spec.name}"{whose}.\n'
        'While it says "docker", pitstop stops the container for a trial, and this unit would start it again.'
    )
    return unit_text(
        comment,
        Unit={"Description": f"{name}: {engine.model}", **_ORDERED, **({} if is_podman else _DAEMON)},
        Service={
            "ExecStartPre": "-" + _line(binary, "rm", "--force", spec.name),
            "ExecStart": command_line(run),
            "ExecStop": _line(binary, "stop", "--time", str(stop_s), spec.name),
            "TimeoutStartSec": "0",
            "TimeoutStopSec": str(stop_s + 30),
            "SuccessExitStatus": "143",
        },
        Install={"WantedBy": "multi-user.target"},
    )


def _guard(name: str, engine: Engine, program: Program) -> RenderedFile:
    after = unit_of(name, engine)
    text = unit_text(
        "",
        Unit={"Description": f"pitstop memory guard for {name}", "After": f"docker.service {after}"},
        Service={
            # Killing at once is right after a restart of the guard in the middle of a shortage.
            "ExecStart": _pitstop(program, "guard", name, "--kill-when-low"),
            **_environment(program),
            "Restart": "always",
            "RestartSec": "5",
            "SuccessExitStatus": "5 130",
            "LimitMEMLOCK": "infinity",
            "OOMScoreAdjust": "-1000",
            "Nice": "-15",
        },
        Install={"WantedBy": "multi-user.target"},
    )
    return RenderedFile(str(_UNITS / f"pitstop-guard-{name}.service"), text)


def _watch(program: Program) -> RenderedFile:
    text = unit_text(
        "",
        Unit={"Description": "pitstop watchdog", **_ordered_after("pitstop-recover.service")},
        Service={
            "Type": "notify",
            "ExecStart": _pitstop(program, "watch"),
            **_environment(program),
            "WatchdogSec": "120",
            "Restart": "always",
            "RestartSec": "10",
        },
        Install={"WantedBy": "multi-user.target"},
    )
    return RenderedFile(str(_UNITS / "pitstop-watch.service"), text)


def _recover(program: Program) -> RenderedFile:
    text = unit_text(
        "After a power cut in the middle of a trial: puts production back before anything watches it.",
        Unit={"Description": "pitstop: finish an interrupted trial", **_ORDERED},
        Service={
            "Type": "oneshot",
            "ExecStart": _pitstop(program, "trial", "recover"),
            **_environment(program),
            "TimeoutStartSec": "3600",
        },
        Install={"WantedBy": "multi-user.target"},
    )
    return RenderedFile(str(_UNITS / "pitstop-recover.service"), text)


def _gateway(program: Program) -> RenderedFile:
    text = unit_text(
        "",
        Unit={"Description": "pitstop gateway", **_ORDERED},
        Service={
            "ExecStart": _pitstop(program, "gateway", "serve"),
            **_environment(program),
            "Restart": "always",
            "RestartSec": "2",
            "LimitNOFILE": "65536",
        },
        Install={"WantedBy": "multi-user.target"},
    )
    return RenderedFile(str(_UNITS / "pitstop-gateway.service"), text)


def _environment(program: Program) -> dict[str, str]:
    """Engines' secrets and the addresses of `host.notify` stand in a file that only root reads, if there is one."""
    return {"Environment": f"PITSTOP_HOME={quoted(program.home)}", "EnvironmentFile": f"-{ENVIRONMENT_FILE}"}


def _pitstop(program: Program, *words: str) -> str:
    options = () if words[0] == "trial" else ("--config", program.config)
    return _line(program.pitstop, *words, *options)


def _line(*words: str) -> str:
    return " ".join(quoted(word) for word in words)


def _ordered_after(unit: str) -> dict[str, str]:
    return {**_ORDERED, "After": f"{_ORDERED['After']} {unit}"}
