"""Names that become parts of file names, numbers that would never end, and addresses that cannot be asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from pitstop.core.config.engine import Engine
from pitstop.core.config.schema import Config
from pitstop.core.config.trial import Trial
from pitstop.core.config.window import parse_window

_NAME = re.compile(r"[^\W_][\w.-]{0,63}")
_RESERVED = ("production", "production-again")  # the arms that every trial has of itself

# Far beyond what makes sense, and short of what fills memory or a year.
_SINGLE = {"boots": (1, 1000), "runs": (1, 10_000), "max_tokens": (2, 10_000_000)}
_LISTS = {"pp": (1, 100_000_000), "concurrency": (1, 10_000)}
_NOT_EMPTY = ("rulers", "pp", "concurrency", "thinking")


def bad_names(config: Config) -> Iterator[str]:
    """Yield a sentence for every name of an engine, a trial or a variant that cannot be one."""
    for name in config.engine:
        yield from _bad_name(f"engine.{name}", name)
    for name, trial in config.trial.items():
        yield from _bad_name(f"trial.{name}", name)
        for variant in trial.variant:
            yield from _bad_name(f"trial.{name}.variant.{variant}", variant)
            if variant in _RESERVED:
                yield f"`trial.{name}.variant.{variant}`: every trial has an arm of that name; choose another"


def engine_limits(where: str, engine: Engine) -> Iterator[str]:
    """Yield a sentence for an address or a wait that cannot work."""
    yield from _bad_url(f"{where}.base_url", engine.base_url)
    if not engine.model or not engine.model.isprintable():
        yield f"`{where}.model`: {engine.model!r} is no name that a server could list"
    if engine.boot_timeout <= 0:
        yield f"`{where}.boot_timeout`: must be more than nothing"


def trial_limits(where: str, trial: Trial) -> Iterator[str]:
    """Yield a sentence for every number or list of a trial that cannot be meant."""
    for key, (least, most) in _SINGLE.items():
        yield from _out_of_range(f"{where}.{key}", [getattr(trial, key)], least, most)
    for key, (least, most) in _LISTS.items():
        yield from _out_of_range(f"{where}.{key}", getattr(trial, key), least, most)
    for key in _NOT_EMPTY:
        if not getattr(trial, key):
            yield f"`{where}.{key}`: is empty; leave it out for the default"
    yield from _bad_window(f"{where}.window", trial.window)
    for ruler in {ruler for ruler in trial.rulers if trial.rulers.count(ruler) > 1}:
        yield f"`{where}.rulers`: {ruler!r} is named twice"


def _bad_window(where: str, window: str) -> Iterator[str]:
    try:
        parse_window(window)
    except ValueError as error:
        yield f"`{where}`: {error}"


def _bad_name(where: str, name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield (
            f"`{where}`: {name[:80]!r} cannot be a name: it becomes part of file names, so it has letters, digits and "
            ". _ - only, begins with a letter or digit, and is not longer than 64"
        )


def _bad_url(where: str, url: str) -> Iterator[str]:
    """What is wrong with it; a password in it is not repeated."""
    try:
        parts = urlsplit(url)
        credentials, _ = parts.username is not None or parts.password is not None, parts.port
    except ValueError as error:
        yield f"`{where}`: cannot be read as a URL ({error})"
        return
    if credentials:
        yield f"`{where}`: contains a user name or password; keys come from the environment: api_key_env"
    elif parts.scheme not in ("http", "https") or not parts.hostname:
        yield f"`{where}`: {url!r} is not an http(s) URL such as http://127.0.0.1:8001/v1"
    elif parts.query or parts.fragment:
        yield f"`{where}`: {url!r} carries a query or a fragment; it ends in a path, as in /v1"


def _out_of_range(where: str, numbers: Sequence[int], least: int, most: int) -> Iterator[str]:
    for number in numbers:
        if not least <= number <= most:
            yield f"`{where}`: must lie between {least} and {most:,}, not {number}"
