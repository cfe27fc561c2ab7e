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

    default: str = OFF
    args: tuple[str, ...] = ()
    env: str = ""  # the environment variable that carries the value
    values: tuple[str, ...] = ()  # when given, what may be chosen


class DockerLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="docker"):
    """`docker run` (or podman): the argv is built from these parts and nothing else."""

    name: str
    image: str
    run: tuple[str, ...] = ()  # options of `docker run`, flag for flag
    command: tuple[str, ...] = ()
    env: dict[str, str] = {}
    binary: Literal["docker", "podman"] = "docker"
    version_command: tuple[str, ...] = ()  # run inside the container; prints the engine's version


class ProcessLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="process"):
    """A child process of its own session. `{port}` and `{python}` are filled in."""

    command: tuple[str, ...]
    env: dict[str, str] = {}
    cwd: str = ""
    version_command: tuple[str, ...] = ()


class ScriptLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="script"):
    """The user's own launcher; knobs reach it as environment variables."""

    start: tuple[str, ...]
    stop: tuple[str, ...] = ()
    container: str = ""
    pidfile: str = ""
    env: dict[str, str] = {}
    cwd: str = ""
    version_command: tuple[str, ...] = ()


class ComposeLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="compose"):
    file: str
    service: str
    project: str = ""
    env: dict[str, str] = {}
    version_command: tuple[str, ...] = ()


class SystemdLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="with", tag="systemd"):
    unit: str
    user: bool = False
    env: dict[str, str] = {}
    container: str = ""
    version_command: tuple[str, ...] = ()


Launch = DockerLaunch | ProcessLaunch | ScriptLaunch | ComposeLaunch | SystemdLaunch


class Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["vllm", "llamacpp", "sglang", "openai"]
    model: str  # the served name that clients use, never the path
    base_url: str
    production: bool = False
    boot_timeout: Duration = duration("15 min")
    stop_timeout: Duration = duration("60 s")
    api_key_env: str = ""  # the name of the environment variable, never the key
    supports: tuple[str, ...] = ()  # what it can do where asking is impossible
    memory: Size | None = None  # what it is expected to hold when it serves
    thinking: Literal["", "chat_template", "reasoning_effort", "none"] = (
        ""  # how thinking is switched; asked when empty
    )
    footprint: FootprintHints = msgspec.field(default_factory=FootprintHints)
    launch: Launch | None = None
    knob: dict[str, Knob] = {}
