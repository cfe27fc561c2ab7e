"""SGLang: `/server_info` (before 0.5 `/get_server_info`), metrics only with `--enable-metrics`."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from pitstop.client.endpoint import Endpoint
from pitstop.engines import metrics
from pitstop.engines.adapter import Capabilities, Counters
from pitstop.engines.exposition import Exposition
from pitstop.engines.listing import count_or_none, text_or_none
from pitstop.engines.openai import OpenAIAdapter, document


class SglangAdapter(OpenAIAdapter):
    kind = "sglang"

    def count(self, text: Exposition, models: Collection[str]) -> Counters:
        return metrics.sglang_counters(text, models)

    def speaks(self, text: Exposition) -> bool:
        return any(name.startswith(metrics.SGLANG) for name in text.names)

    async def version(self, endpoint: Endpoint, deadline_s: float) -> tuple[str | None, str]:
        info, path = await _server_info(endpoint, deadline_s)
        version = text_or_none(info.get("version"))
        return (version, path) if version else (None, "unavailable")

    async def capabilities(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> Capabilities:
        asked = super().capabilities(endpoint, deadline_s=deadline_s)
        seen: Capabilities
        seen, (info, _) = await asyncio.gather(asked, _server_info(endpoint, deadline_s))
        return replace(
            seen,
            context_tok=seen.context_tok or count_or_none(info.get("context_length")),
            cache_block_tok=count_or_none(info.get("page_size")),
        )


async def _server_info(endpoint: Endpoint, deadline_s: float) -> tuple[dict[str, Any], str]:
    """The server's settings. They hold its keys, so nothing but single fields may leave this module."""
    for path in ("/server_info", "/get_server_info"):
        value = await document(endpoint, path, deadline_s / 2)
        if isinstance(value, dict):
            return value, path
    return {}, "unavailable"
