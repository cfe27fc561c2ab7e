"""The tool calls of a reply, put together from the pieces in which a stream sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pitstop.client.exchange import Exchange
from pitstop.client.http import parse_json
from pitstop.client.sse import parse_events

_MOST_CALLS = 1000  # a stream with more is broken; what is beyond is left out


@dataclass(frozen=True)
class ToolCall:
    """One call as the model made it. `arguments` is its text, which may be no JSON."""

    id: str
    name: str
    arguments: str


@dataclass
class _Pieces:
    id: str = ""
    name: str = ""
    arguments: str = ""


def tool_calls_of(raw: Exchange) -> list[ToolCall]:
    """Every tool call in order of its index. Nothing in a body makes this fail.

    Pieces belong together by `index`. Servers that leave it out (Ollama, some of Gemini) send whole calls; there a
    piece with a name begins a new one. A name that is sent again with every piece counts once.
    """
    found: dict[Any, _Pieces] = {}
    for event in parse_events(raw.body).events:
        for piece in _pieces(event.data):
            _add(found, piece)
    return [ToolCall(one.id or f"call_{number}", one.name, one.arguments) for number, one in enumerate(found.values())]


def _pieces(data: bytes) -> list[dict[str, Any]]:
    try:
        event = parse_json(data)
    except ValueError:
        return []
    choices = event.get("choices") if isinstance(event, dict) else None
    found: list[dict[str, Any]] = []
    for choice in choices if isinstance(choices, list) else []:
        for place in ("delta", "message"):
            said = choice.get(place) if isinstance(choice, dict) else None
            calls = said.get("tool_calls") if isinstance(said, dict) else None
            found += [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return found


def _add(found: dict[Any, _Pieces], piece: dict[str, Any]) -> None:
    function = piece.get("function")
    function = function if isinstance(function, dict) else {}
    name, arguments = _text(function.get("name")), function.get("arguments")
    index = piece.get("index")
    if not isinstance(index, int):
        index = f"call {len(found)}" if name or not found else next(reversed(found))
    if index not in found and len(found) >= _MOST_CALLS:
        return
    one = found.setdefault(index, _Pieces())
    one.id = one.id or _text(piece.get("id"))
    if name != one.name:
        one.name += name
    one.arguments += arguments if isinstance(arguments, str) else _json(arguments)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json(value: Any) -> str:
    """Arguments that a server sends as an object instead of as text (Ollama)."""
    import json  # noqa: PLC0415 - hardly ever needed

    return json.dumps(value) if isinstance(value, dict) else ""
