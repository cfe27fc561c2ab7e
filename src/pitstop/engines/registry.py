"""Engine kinds by the name that `[engine.NAME] kind` gives them."""

from __future__ import annotations

from pitstop.core.config.nearest import nearest
from pitstop.core.errors import UsageError
from pitstop.engines.adapter import Adapter
from pitstop.engines.llamacpp import LlamacppAdapter
from pitstop.engines.openai import OpenAIAdapter
from pitstop.engines.sglang import SglangAdapter
from pitstop.engines.vllm import VllmAdapter

_ADAPTERS: dict[str, type[OpenAIAdapter]] = {
    adapter.kind: adapter for adapter in (VllmAdapter, LlamacppAdapter, SglangAdapter, OpenAIAdapter)
}
KINDS = tuple(_ADAPTERS)


def adapter_for(kind: str) -> Adapter:
    """The adapter of an engine kind; UsageError for a kind that there is not."""
    if kind not in _ADAPTERS:
        raise UsageError(f"there is no engine kind {kind!r}; there are {', '.join(KINDS)}{nearest(kind, KINDS)}.")
    return _ADAPTERS[kind]()
