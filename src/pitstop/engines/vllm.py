"""vLLM: `/version`, Prometheus metrics with a model label, cache settings in `vllm:cache_config_info`."""

from __future__ import annotations

from collections.abc import Collection

from pitstop.engines import metrics
from pitstop.engines.adapter import Counters
from pitstop.engines.exposition import Exposition
from pitstop.engines.openai import OpenAIAdapter
from pitstop.engines.reading import Reading


class VllmAdapter(OpenAIAdapter):
    kind = "vllm"

    def count(self, text: Exposition, models: Collection[str]) -> Counters:
        return metrics.vllm_counters(text, models)

    def speaks(self, text: Exposition) -> bool:
        return any(name.startswith(metrics.VLLM) for name in text.names)

    def cache_block(self, text: Exposition) -> int | None:
        """As `vllm:cache_config_info` has it; hybrids hash in larger steps than they page, so that label goes first."""
        config = Reading(text)
        for label in ("hash_block_size", "effective_attention_block_size", "block_size"):
            size = config.label("vllm:cache_config_info", label)
            if size is not None and size.isascii() and size.isdigit() and 0 < int(size) < 2**20:
                return int(size)
        return None
