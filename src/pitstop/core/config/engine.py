"""`[engine.NAME]`: one serving process and how it is launched."""

from __future__ import annotations

from typing import Literal

import msgspec

from pitstop.core.config.defaults import duration
from pitstop.core.config.footprint import FootprintHints
from pitstop.core.units import Duration, Size

OFF = "off"  # a knob's value that leaves its arguments out


class Knob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One named setting. `{value}` in `args` is filled in; all of `args` is absent when the value is `off`."""

    default: str = OFF  # what production runs
    args: tuple[str, ...] = ()  # appended to the command, with `{value}` filled in
    env: str = ""  # the environment variable that carries the value
    values: tuple[str, ...] = ()  # when given, what may be chosen


class DockerLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="docker"):
    """`docker run` (or podman): the argv is built from these parts and nothing else."""

    name: str  # of the container
    image: str  # best repository:tag@sha256:…: the digest decides, the tag documents
    run: tuple[str, ...] = ()  # options of `docker run`, flag for flag
    command: tuple[str, ...] = ()  # what runs inside
    env: dict[str, str] = {}  # `"${NAME}"` takes the value from the environment, as secrets should be
    binary: Literal["docker", "podman"] = "docker"  # the program that is run
    version_command: tuple[str, ...] = ()  # run inside the container; prints the engine's version


class ProcessLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="process"):
    """A child process of its own session. `{port}` and `{python}` are filled in."""

    command: tuple[str, ...]  # the program and its arguments
    env: dict[str, str] = {}  # `"${NAME}"` takes the value from the environment, as secrets should be
    cwd: str = ""  # the folder it starts in
    version_command: tuple[str, ...] = ()  # run beside it; prints the engine's version


class ScriptLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="script"):
    """The user's own launcher; knobs reach it as environment variables."""

    start: tuple[str, ...]  # your launcher, as you would call it
    stop: tuple[str, ...] = ()  # how it is stopped; without it the container or process is
    container: str = ""  # the container that it starts
    binary: Literal["docker", "podman"] = "docker"  # whose container that is
    pidfile: str = ""  # or the file where it leaves the pid
    env: dict[str, str] = {}  # for the launcher, beside the knobs
    cwd: str = ""  # the folder it is called in
    version_command: tuple[str, ...] = ()  # prints the engine's version


class ComposeLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="compose"):
    file: str  # the compose file
    service: str  # the service in it
    project: str = ""  # the project's name, where it is not the folder's
    env: dict[str, str] = {}  # for the variables that the file reads, beside the knobs
    version_command: tuple[str, ...] = ()  # run inside the container


class SystemdLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="systemd"):
    unit: str  # as in vllm-mid.service
    user: bool = False  # a unit of `systemctl --user`
    env: dict[str, str] = {}  # for the variables that the unit reads, beside the knobs
    container: str = ""  # the container that the unit starts, where it starts one
    binary: Literal["docker", "podman"] = "docker"  # whose container that is
    version_command: tuple[str, ...] = ()  # prints the engine's version


Launch = DockerLaunch | ProcessLaunch | ScriptLaunch | ComposeLaunch | SystemdLaunch


class Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["vllm", "llamacpp", "sglang", "openai"]  # openai: any other server that speaks that API
    model: str  # the served name that clients use, never the path
    base_url: str  # as in http://127.0.0.1:8001/v1; its port is the `{port}` of commands
    production: bool = False  # what commands mean when no engine is named
    boot_timeout: Duration = duration("15 min")  # until it must be ready
    stop_timeout: Duration = duration("60 s")  # between SIGTERM and SIGKILL
    api_key_env: str = ""  # the name of the environment variable, never the key
    supports: tuple[str, ...] = ()  # what it can do where asking is impossible
    memory: Size | None = None  # what it is expected to hold when it serves
    thinking: Literal["", "chat_template", "reasoning_effort", "none"] = (
        ""  # how thinking is switched; asked when empty
    )
    footprint: FootprintHints = msgspec.field(default_factory=FootprintHints)
    launch: Launch | None = None
    knob: dict[str, Knob] = {}
