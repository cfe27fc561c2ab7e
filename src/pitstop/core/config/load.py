"""Find, read and check `pitstop.toml`; everything wrong with it is told at once, each in a sentence."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from pitstop.core.config.consistency import contradictions
from pitstop.core.config.nearest import choices_at, nearest, unknown_keys
from pitstop.core.config.schema import Config
from pitstop.core.errors import ConfigError
from pitstop.core.units import Duration, Share, Size, parse_duration, parse_share, parse_size

_SHARED = "Run `pitstop config schema` for every key, or `pitstop init` for a commented example."
_SHOWN = 20  # findings; whoever has more begins with these
_READERS = {Size: parse_size, Duration: parse_duration, Share: parse_share}


def find(chosen: str | None, environ: Mapping[str, str], cwd: Path) -> Path:
    """The file to read: `--config`, `./pitstop.toml`, `$PITSTOP_CONFIG`, `~/.config/pitstop/pitstop.toml`."""
    if chosen:
        return Path(chosen)
    here = cwd / "pitstop.toml"
    if here.exists():
        return here
    if named := environ.get("PITSTOP_CONFIG"):
        return Path(named)
    return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "pitstop/pitstop.toml"


def load(path: Path) -> Config:
    """Read `path`; ConfigError with one sentence per finding."""
    try:
        text = path.read_text("utf-8-sig")  # editors of another system put a mark in front
    except FileNotFoundError as error:
        raise ConfigError(
            f"There is no configuration at {path}.",
            hint="Run `pitstop init` to write a commented one, or name yours with --config FILE.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", hint=_SHARED) from error
    return parse(text, str(path))


def parse(text: str, name: str = "pitstop.toml") -> Config:
    """The configuration in `text`; `name` stands in the sentences of a ConfigError."""
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{name} is not valid TOML: {error}.", hint=_SHARED) from error
    _refuse(name, list(unknown_keys(raw, Config)))
    try:
        config = _converted(raw)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{name}: {_located(str(error), raw)}", hint=_SHARED) from error
    _refuse(name, list(contradictions(config)))
    return config


def _refuse(name: str, findings: list[str]) -> None:
    if findings:
        shown = [f"{name}: {finding}" for finding in findings[:_SHOWN]]
        more = [f"and {len(findings) - _SHOWN} more."] if len(findings) > _SHOWN else []
        raise ConfigError("\n".join(shown + more), hint=_SHARED)


def _converted(raw: dict[str, Any]) -> Config:
    return msgspec.convert(raw, Config, dec_hook=_read_quantity)


def _read_quantity(kind: type, value: Any) -> Any:
    reader = _READERS.get(kind)
    if reader is None:
        raise NotImplementedError(kind)
    if not isinstance(value, str):
        raise ValueError(f"{value!r} needs a unit, as in {_example(kind)!r}")  # noqa: TRY004 - msgspec maps ValueError
    return reader(value)


def _example(kind: type) -> str:
    return {Size: "12 GiB", Duration: "5 min", Share: "3 %"}[kind]


def _located(message: str, raw: dict[str, Any]) -> str:
    """Replace msgspec's `$.engine[...].kind` by the names that stand in the file, and say what may stand there."""
    match = re.search(r" - at `\$?\.?(.*)`$", message)
    if match is None:
        return message
    path: list[str] = []
    for step in re.findall(r"\[\.\.\.\]|\[\d+\]|[^.\[\]]+", match.group(1)):
        path.append(_culprit(message, raw, path) if step == "[...]" else step)
    return f"`{'.'.join(path)}`: {message[: match.start()]}{_choices(path, raw) or '.'}"


def _culprit(message: str, raw: dict[str, Any], path: list[str]) -> str:
    """Which of the names below `path` is meant: the one that alone gives the same message."""
    names = list(_at(raw, path))
    return next((name for name in names if _complaint(_only(raw, [*path, name])) == message), "[...]")


def _complaint(raw: dict[str, Any]) -> str:
    try:
        _converted(raw)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _only(value: Any, path: list[str]) -> Any:
    """`value` without the siblings of what lies at the end of `path`."""
    first, *rest = path
    return {**value, first: _only(value[first], rest)} if rest else {first: value[first]}


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = value.get(name, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, dict) else {}


def _choices(path: list[str], raw: dict[str, Any]) -> str:
    choices = choices_at(path, raw, Config)
    given = _at(raw, path[:-1]).get(path[-1], "")
    if not choices:
        return ""
    return f"; it is one of {', '.join(choices)}{nearest(str(given), choices) or '.'}"
