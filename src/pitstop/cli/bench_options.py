"""The options of `bench` as settings: sizes, budgets, a preset under what was given explicitly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pitstop.rulers.presets import Preset
    from pitstop.rulers.ruler import Settings

_NONE = ("none", "no", "off")  # a thinking budget that is not sent


def settings_of(options: Mapping[str, Any], given: Iterable[str], preset: Preset | None) -> Settings:
    """The defaults, or the preset's settings, with those of the options that were given by hand."""
    from dataclasses import replace

    from pitstop.rulers.ruler import Settings

    read: dict[str, Any] = {
        name: _READERS[name](name, value) if name in _READERS else value for name, value in options.items()
    }
    if preset is None:
        return Settings(**read)
    return replace(preset.settings, **{name: read[name] for name in given if name in read})


def words(text: str) -> list[str]:
    """What stands between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def sizes(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers above zero; UsageError names the option."""
    from pitstop.core.errors import UsageError

    try:
        read = tuple(int(word) for word in words(text))
    except ValueError as error:
        raise UsageError(f"{_flag(option)} takes whole numbers with commas between, not {text!r}.") from error
    if not read or min(read) < 1:
        raise UsageError(f"{_flag(option)} takes numbers above zero, not {text!r}.")
    return read


def budgets(option: str, text: str) -> tuple[int | None, ...]:
    """Sizes, and `none` for no budget."""
    read = tuple(None if word.lower() in _NONE else sizes(option, word)[0] for word in words(text))
    return read or sizes(option, text)


def _choices(option: str, text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    from pitstop.core.errors import UsageError

    chosen = words(text)
    wrong = [word for word in chosen if word not in known]
    if wrong or not chosen:
        raise UsageError(f"{_flag(option)} takes {' and '.join(known)}, not {(wrong or [text])[0]!r}.")
    return tuple(chosen)


def _one_of(option: str, text: str, known: tuple[str, ...]) -> str:
    from pitstop.core.errors import UsageError

    if text not in known:
        raise UsageError(f"{_flag(option)} is {' or '.join(known)}, not {text!r}.")
    return text


def _duration(option: str, text: str) -> float:
    from pitstop.core.errors import UsageError
    from pitstop.core.units import parse_duration

    try:
        read = float(parse_duration(text))
    except ValueError as error:
        raise UsageError(f"{_flag(option)}: {error}.") from error
    if not read:
        raise UsageError(f"{_flag(option)} is above zero, not {text!r}.")
    return read


def _flag(option: str) -> str:
    return f"--{_FLAGS.get(option, option).replace('_', '-')}"


_FLAGS = {"request_timeout_s": "request-timeout", "cases": "case"}
_READERS = {
    "pp": sizes,
    "depths": sizes,
    "concurrency": sizes,
    "budgets": budgets,
    "thinking": lambda option, text: _choices(option, text, ("on", "off")),
    "prompt_order": lambda option, text: _one_of(option, text, ("rotate", "first")),
    "cases": lambda _option, text: tuple(words(text)),
    "request_timeout_s": _duration,
}
