"""llama.cpp's server: `/props`, metrics without labels, one prefix cache per slot that matches token by token."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from pitstop.client.endpoint import Endpoint
from pitstop.client.http import Answer, Lack, NoAnswer, get_json, get_text
from pitstop.engines import metrics
from pitstop.engines.adapter import Capabilities, Counters, Readiness, ReadinessReport
from pitstop.engines.exposition import Exposition
from pitstop.engines.listing import count_or_none, text_or_none, within
from pitstop.engines.openai import OpenAIAdapter, document

_NAMELESS = "b0-unknown"  # what a build outside of git calls itself; it tells no two builds apart


class LlamacppAdapter(OpenAIAdapter):
    kind = "llamacpp"

    def count(self, text: Exposition, models: Collection[str]) -> Counters:  # noqa: ARG002 - it has only one
        return metrics.llamacpp_counters(text)

    def speaks(self, text: Exposition) -> bool:
        return any(name.startswith(metrics.LLAMACPP) for name in text.names)

    async def version(self, endpoint: Endpoint, deadline_s: float) -> tuple[str | None, str]:
        version = text_or_none(within(await document(endpoint, "/props", deadline_s), "build_info"))
        if version == _NAMELESS:
            return None, f"/props says {_NAMELESS}"
        return (version, "/props") if version else (None, "unavailable")

    async def readiness(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> ReadinessReport:
        """As any server's; but it lists its models to anybody, so the key is tried on `/props`."""
        asked = super().readiness(endpoint, deadline_s=deadline_s)
        report: ReadinessReport
        report, props = await asyncio.gather(asked, get_json(endpoint, "/props", deadline_s=deadline_s, root=True))
        if report.readiness is Readiness.READY and isinstance(props, NoAnswer) and props.kind is Lack.REFUSED:
            return ReadinessReport(Readiness.REFUSED, f"{props.detail}: the key is missing or not taken", report.models)
        return report

    async def metrics_text(self, endpoint: Endpoint, deadline_s: float) -> Exposition | None:
        """As any server's; a router of several models wants to be told of which."""
        text = await super().metrics_text(endpoint, deadline_s / 2)
        if text is not None:
            return text
        path = f"{self.metrics_path}?model={quote(endpoint.model, safe='')}"
        answer = await get_text(endpoint, path, deadline_s=deadline_s / 2, root=True)
        routed = metrics.read(answer.value) if isinstance(answer, Answer) else None
        return routed if routed is not None and self.speaks(routed) else None

    async def capabilities(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> Capabilities:
        asked = super().capabilities(endpoint, deadline_s=deadline_s)
        seen: Capabilities
        seen, props = await asyncio.gather(asked, get_json(endpoint, "/props", deadline_s=deadline_s, root=True))
        settings = within(props.value, "default_generation_settings") if isinstance(props, Answer) else None
        return replace(
            seen,
            context_tok=count_or_none(within(settings, "n_ctx")) or seen.context_tok,
            cache_block_tok=1,
            per_event_timings=_knows_timings(settings),
        )


def _knows_timings(settings: Any) -> bool:
    """Whether the server lists `timings_per_token` among a request's settings (old ones do so one level higher)."""
    return any(
        "timings_per_token" in place for place in (settings, within(settings, "params")) if isinstance(place, dict)
    )
