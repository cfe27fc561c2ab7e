"""What a start and a stop would run, as a person would type it: for `--dry-run`. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pitstop.launch import unit
from pitstop.launch.container_engine import remove_words, stop_words
from pitstop.launch.docker import run_argv
from pitstop.launch.launcher import LaunchSpec


def start_steps(spec: LaunchSpec) -> list[str]:
    """The lines that start the engine; secrets stand in the environment and are not shown."""
    match spec.launcher:
        case "docker":
            return [shlex.join(run_argv(spec))]
        case "systemd":
            drop_in = unit.drop_in(spec.env, bool(spec.overrides), {}).splitlines()
            written = [f"a drop-in for {spec.name} under /run:", *(f"  {line}" for line in drop_in)] if drop_in else []
            return [*written, shlex.join(spec.argv)]
    return [_with_environment(spec, spec.argv)]


def stop_steps(spec: LaunchSpec) -> list[str]:
    """The lines that stop it; what pitstop did not make itself is stopped and kept."""
    match spec.launcher:
        case "docker":
            binary = spec.options.get("binary", "docker")
            return [
                shlex.join([binary, *stop_words(spec.name, spec.stop_timeout_s)]),
                shlex.join([binary, *remove_words(spec.name)]),
            ]
        case "compose" | "systemd":
            return [shlex.join(spec.stop_argv)]
    asked = [_with_environment(spec, spec.stop_argv)] if spec.stop_argv else []
    whose = f"what is left of container {spec.name}" if spec.name else "its processes"
    return [*asked, f"SIGTERM to {whose}; SIGKILL to those that live {spec.stop_timeout_s:.0f} s later"]


def _with_environment(spec: LaunchSpec, argv: Sequence[str]) -> str:
    return " ".join([*(f"{key}={shlex.quote(value)}" for key, value in spec.env.items()), shlex.join(argv)])
