"""Whether an interrupted run may go on: same engine, same boot, same question. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pitstop.core.documents import EngineIdentity, RunDocument

# What may differ: which rulers are wanted, and what earlier continuations left.
_FREE = frozenset({"rulers", "resumed_at"})
_WITH_A_RULER = frozenset({"quality_tasks"})  # told by runs that this ruler is part of, and a continuation may add it
_SHOWN_CHARS = 80


def measured_rulers(run: RunDocument) -> tuple[str, ...]:
    """The rulers that a run has finished, in their order: a document is written after each whole ruler."""
    return tuple(dict.fromkeys(figure.ruler for figure in run.figures))


def differences(
    run: RunDocument, engine: EngineIdentity, settings: Mapping[str, Any], tool: Mapping[str, str]
) -> list[str]:
    """By name, what is not as it was when `run` began; a run is one boot of one engine, so a restart is among them."""
    was, now = _plain(run.engine), _plain(engine)
    found = [_told(f"engine.{name}", was[name], now[name]) for name in was if was[name] != now[name]]
    asked, asks = _plain(run.settings), _plain(settings)
    free = _FREE | {name for name in _WITH_A_RULER if None in (asked.get(name), asks.get(name))}
    names = [name for name in {**asked, **asks} if name not in free and asked.get(name) != asks.get(name)]
    found += [_told(f"settings.{name}", asked.get(name), asks.get(name)) for name in names]
    if dict(run.tool) != dict(tool):
        found.append(_told("tool", run.tool.get("version"), tool.get("version")))
    return found


def _told(name: str, was: Any, now: Any) -> str:
    return f"{name}: {_short(was)} then, {_short(now)} now"


def _short(value: Any) -> str:
    text = "not known" if value is None else str(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _plain(value: Any) -> dict[str, Any]:
    """As it reads in a file, so that a tuple is the list that it was written as."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))
    return plain
