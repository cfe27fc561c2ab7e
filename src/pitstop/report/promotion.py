"""The exact edit of `pitstop.toml` that would make a variant production: shown, never made.

Comments, order and spacing of the file stay as they are (tomlkit); only the lines that decide are changed. Those lines
alone are shown, without what is secret on them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from pitstop.core.config.consistency import BUILT_IN_KNOB
from pitstop.core.config.engine import OFF
from pitstop.core.errors import UsageError
from pitstop.core.secrets import is_secret
from pitstop.report.clean import clean

_ASSIGNED = re.compile(r"""([A-Za-z0-9_-]+)(["']?\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*')""")
_Table = MutableMapping[str, Any]


def promotion_diff(toml: str, engine: str, overrides: Mapping[str, str], name: str = "pitstop.toml") -> str:
    """A unified diff from `toml` to the file in which `overrides` are `engine`'s defaults; empty when nothing changes.

    A knob that carries a secret is named and left to the person. UsageError when the file is not TOML or has no such
    engine or knob.
    """
    shown = {knob: value for knob, value in overrides.items() if not is_secret(knob)}
    old, new = toml.split("\n"), promoted(toml, engine, shown, name).split("\n")
    lines = list(difflib.unified_diff(old, new, name, f"{name} (promoted)", lineterm="", n=0))
    by_hand = [f"# {knob} carries a secret: set its default by hand" for knob in overrides if is_secret(knob)]
    return "\n".join(_without_secrets(clean(_placed(line, old))) for line in [*lines, *by_hand])


def promoted(toml: str, engine: str, overrides: Mapping[str, str], name: str = "pitstop.toml") -> str:
    """The whole text of the file after the edit."""
    try:
        document = tomlkit.parse(toml)
    except TOMLKitError as error:
        raise UsageError(f"{name} is not valid TOML: {error}.", hint="Run `pitstop config check`.") from error
    table = _engine_table(document, engine, name)
    for knob, value in overrides.items():
        _set_default(table, engine, knob, value, name)
    return tomlkit.dumps(document)


def _set_default(table: _Table, engine: str, knob: str, value: str, name: str) -> None:
    settings, launch = _inner(_inner(table, "knob"), knob), _inner(table, "launch")
    default = settings.get("default", OFF) if settings else OFF
    if knob == BUILT_IN_KNOB and default == OFF and launch and "image" in launch:
        launch["image"] = _quoted_like(launch["image"], value)
    elif settings is not None:
        settings["default"] = _quoted_like(settings.get("default"), value)
    else:
        raise UsageError(
            f"{name} has no knob {knob} for the engine {engine}; the trial was made with another file.",
            hint=f"Add [engine.{engine}.knob.{knob}], or look up the trial's own settings in its report.",
        )


def _quoted_like(old: Any, value: str) -> Any:
    """The new value with the comment and spacing of the old one."""
    new = tomlkit.item(value)
    if hasattr(old, "trivia"):
        new.trivia.comment, new.trivia.comment_ws = old.trivia.comment, old.trivia.comment_ws
        new.trivia.trail, new.trivia.indent = old.trivia.trail, old.trivia.indent
    return new


def _engine_table(document: _Table, engine: str, name: str) -> _Table:
    engines = _inner(document, "engine")
    found = _inner(engines, engine)
    if found is None:
        listed = ", ".join(engines) if engines else "none"
        raise UsageError(f"{name} has no engine {engine!r}; it has: {listed}.", hint="Name one of those.")
    return found


def _inner(table: _Table | None, key: str) -> _Table | None:
    """The table under `key`; None when there is none."""
    found = table.get(key) if table is not None else None
    return found if isinstance(found, MutableMapping) else None


def _placed(line: str, old: list[str]) -> str:
    """A hunk's head with the table that it lies in, as `git diff` names the function."""
    hunk = re.match(r"@@ -(\d+)", line)
    if hunk is None:
        return line
    above = (each.strip() for each in reversed(old[: int(hunk[1])]) if each.lstrip().startswith("["))
    return f"{line} {next(above, '')}".rstrip()


def _without_secrets(line: str) -> str:
    return _ASSIGNED.sub(lambda found: f'{found[1]}{found[2]}"…"' if is_secret(found[1]) else found[0], line)
