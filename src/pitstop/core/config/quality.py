"""`[quality]`: how the quality ruler asks, and where it runs the code that a model wrote."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from pitstop.core.config.defaults import duration
from pitstop.core.units import Duration

Languages = Literal["en", "de", "both"]
_Count = Annotated[int, msgspec.Meta(ge=1)]
_Temperature = Annotated[float, msgspec.Meta(ge=0)]


class Sandbox(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where hidden tests run. Never on the host: without any of these the coding tasks are unavailable."""

    use: Literal["auto", "docker", "podman", "bubblewrap", "none"] = "auto"  # auto: docker, podman, then bubblewrap
    image: str = "python:3-alpine"  # any image with Python 3.8 or newer; it is never pulled by itself
    python: str = "python3"  # in the image, or on the host for bubblewrap
    mounts: tuple[str, ...] = ()  # host folders that the container sees at the same place, read-only
    memory_mib: _Count = 512  # for the tested code, in MiB
    time_limit: Duration = duration("20 s")  # for all hidden tests of one task


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first report's settings: temperature 0.6, one sample, 32,000 tokens, thinking on."""

    temperature: _Temperature = 0.6  # one sample of it, as in the first report
    max_tokens: _Count = 32_000  # of each reply, thought included
    thinking: Literal["on", "off"] = "on"  # where the model has a switch
    repeats: _Count = 1  # attempts at each task
    parallel: _Count = 1  # requests at once: changes the time, not the answers
    language: Languages = "both"  # both: half of the tasks in each
    tasks: str = ""  # a folder of your own task files, asked instead of the 28
    sandbox: Sandbox = msgspec.field(default_factory=Sandbox)
