"""The paths that the gateway answers, and nothing else: no metrics, tokenizer, sleep or other door of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Api(StrEnum):
    CHAT = "chat/completions"
    COMPLETIONS = "completions"
    RESPONSES = "responses"
    EMBEDDINGS = "embeddings"
    MESSAGES = "messages"


@dataclass(frozen=True)
class Traits:
    """How one API spells what the gateway cares about."""

    limit_fields: tuple[str, ...] = ()  # where a client says how many tokens it wants at most; the first is ours
    usage_on_request: bool = False  # usage of a stream comes only when `stream_options` asks for it
    done_marker: bool = False  # a stream ends with `data: [DONE]`
    sampling: frozenset[str] | None = None  # the sampling fields that it knows; None: all


_ALL = None
_FEW = frozenset({"temperature", "top_p"})

TRAITS: dict[Api, Traits] = {
    # `n_predict` is llama.cpp's own word, read on both paths; a limit that ignored it would be none.
    Api.CHAT: Traits(("max_tokens", "max_completion_tokens", "n_predict"), True, True, _ALL),
    Api.COMPLETIONS: Traits(("max_tokens", "n_predict"), True, True, _ALL),
    Api.RESPONSES: Traits(("max_output_tokens",), sampling=_FEW),
    Api.EMBEDDINGS: Traits(sampling=frozenset()),
    Api.MESSAGES: Traits(("max_tokens",), sampling=_FEW | {"top_k"}),
}

BY_PATH: dict[str, Api] = {f"/v1/{api.value}": api for api in Api}
MODELS_PATH = "/v1/models"
