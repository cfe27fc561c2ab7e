"""Write an engine's image into `pitstop.toml` and leave everything else as it stands: comments, order, blanks."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from pitstop.core.config.consistency import BUILT_IN_KNOB
from pitstop.core.config.engine import OFF, DockerLaunch, Engine
from pitstop.core.config.load import parse
from pitstop.core.durable import write_durably
from pitstop.core.errors import ConfigError, UsageError


def image_of(engine: Engine) -> str | None:
    """The image that production runs: the launch's, or the one that the knob IMAGE has as its default."""
    if not isinstance(engine.launch, DockerLaunch):
        return None
    knob = engine.knob.get(BUILT_IN_KNOB)
    return knob.default if knob is not None and knob.default != OFF else engine.launch.image


def with_image(text: str, name: str, engine: Engine, image: str, file: str) -> str:
    """The file's text with another image for this engine. ConfigError when it would not read back as that."""
    try:
        document = tomlkit.parse(text)
        table: Any = document["engine"][name]
        if image_of(engine) == getattr(engine.launch, "image", None):
            table["launch"]["image"] = image
        else:
            table["knob"][BUILT_IN_KNOB]["default"] = image
        changed = tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError) as error:
        raise ConfigError(f"{file}: the image of engine {name} could not be written: {error}.") from error
    written = parse(changed, file).engine[name]
    if image_of(written) != image:
        raise ConfigError(f"{file}: the image of engine {name} could not be written there.", hint="Write it by hand.")
    return changed


def write_image(path: Path, name: str, engine: Engine, image: str) -> bool:
    """Change the file on disk in one step, keeping its mode; False when it said so already."""
    target = path.resolve()  # a link stays a link
    try:
        before = target.read_bytes().decode("utf-8")
        changed = with_image(before, name, engine, image, str(path))
        if changed == before:
            return False
        write_durably(target, changed.encode(), mode=stat.S_IMODE(target.stat().st_mode))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} could not be changed: {error}.", hint="It is as it was.") from error
    return True
