"""Where requests go, and what one asks for: values only, so that a request can be shown and compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible server. `base_url` ends before `/chat/completions`, usually in `/v1`."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)  # a secret: never in a repr, a log or an argv

    @property
    def root_url(self) -> str:
        """The server itself, where `/metrics`, `/version`, `/health` and `/props` live."""
        trimmed = self.base_url.rstrip("/")
        return trimmed.removesuffix("/v1")


@dataclass(frozen=True)
class ChatRequest:
    """One streamed chat completion, before stream options are negotiated."""

    messages: tuple[dict[str, Any], ...]
    max_tokens: int
    temperature: float | None = 0.0
    extra: dict[str, Any] = field(default_factory=dict)  # seed, chat_template_kwargs, thinking_token_budget, tools…
