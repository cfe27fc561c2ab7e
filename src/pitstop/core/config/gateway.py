"""`[gateway]`: the OpenAI-compatible front."""

from __future__ import annotations

import msgspec


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    engine: str
    thinking_token_budget: int | None = None
    system_prompt: str = ""
    fallback: str = ""  # a route


class Gateway(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    listen: str = "127.0.0.1:8080"
    route: dict[str, Route] = {}
