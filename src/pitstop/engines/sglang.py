"""SGLang: `/server_info` (before 0.5 `/get_server_info`), metrics only with `--enable-metrics`."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from pitstop.client.endpoint import Endpoint
from pitstop.client.http import Answer, get_json
from pitstop.engines import metrics
from pitstop.engines.adapter import Capabilities, Counters
from pitstop.engines.exposition import Exposition
from pitstop.engines.listing import count_or_none
from pitstop.engines.openai import OpenAIAdapter

_INFO = ("/server_info", "/get_server_info")  # the second is what older releases have


class SglangAdapter(OpenAIAdapter):
    kind = "sglang"

    def count(self, text: Exposition, models: Collection[str]) -> Counters:
        return metrics.sglang_counters(text, models)

    def speaks(self, text: Exposition) -> bool:
        return any(name.startswith(metrics.SGLANG) for name in text.names)

    async def version(self, endpoint: Endpoint, deadline_s: float) -> tuple[str | None, str]:
        for path in _INFO:
            version, source = await self.version_at(endpoint, path, ("version",), deadline_s / len(_INFO))
            if version:
                return version, source
        return None, "unavailable"

    async def capabilities(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> Capabilities:
        asked = super().capabilities(endpoint, deadline_s=deadline_s)
        seen: Capabilities
        seen, info = await asyncio.gather(asked, _server_info(endpoint, deadline_s))
        return replace(
            seen,
            context_tok=seen.context_tok or count_or_none(info.get("context_length")),
            cache_block_tok=count_or_none(info.get("page_size")),
        )


async def _server_info(endpoint: Endpoint, deadline_s: float) -> dict[str, Any]:
    """The server's settings, or nothing. They hold its keys, so only single fields may leave this module."""
    for path in _INFO:
        answer = await get_json(endpoint, path, deadline_s=deadline_s / len(_INFO), root=True)
        if isinstance(answer, Answer) and isinstance(answer.value, dict):
            return answer.value
    return {}
