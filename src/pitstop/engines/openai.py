"""Any OpenAI-compatible server, and what the known kinds share: the model list, readiness, finding the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from pitstop.client.endpoint import Endpoint
from pitstop.client.http import Answer, Lack, NoAnswer, get_json, get_text
from pitstop.core.documents import EngineIdentity
from pitstop.core.errors import RequestRefused, Unreachable
from pitstop.engines import metrics
from pitstop.engines.adapter import Capabilities, Counters, Readiness, ReadinessReport
from pitstop.engines.exposition import Exposition
from pitstop.engines.listing import ModelCard, find, names_of, parse_listing, shown, text_or_none, within
from pitstop.engines.reading import start_time

_STARTING = 503  # vLLM, llama.cpp and SGLang answer this while they load, and vLLM when its engine is dead


class OpenAIAdapter:
    """A server of unknown kind: nothing is asked of it that an OpenAI-compatible server may not have."""

    kind = "openai"

    async def identity(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> EngineIdentity:
        """Version and start time from inside, each None where this server does not say.

        Raises Unreachable when nothing answers, RequestRefused when the key is not taken.
        """
        asked = self.version(endpoint, deadline_s), self.metrics_text(endpoint, deadline_s)
        said, text = await asyncio.gather(*asked, return_exceptions=True)  # so that neither is left behind running
        if isinstance(said, BaseException):
            raise said
        version, source = said
        started = start_time(text) if isinstance(text, Exposition) else None
        return EngineIdentity(
            kind=self.kind,
            model=endpoint.model,
            version=version,
            version_source=source,
            started_at=datetime.fromtimestamp(started, UTC).isoformat(timespec="milliseconds") if started else None,
        )

    async def readiness(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> ReadinessReport:
        """READY only when the model is listed and `/health` does not object. Never raises for what a server does."""
        listed, health = await asyncio.gather(
            get_json(endpoint, "/models", deadline_s=deadline_s),
            get_text(endpoint, "/health", deadline_s=deadline_s, root=True),
        )
        report = _listed(endpoint, listed)
        if report.readiness is not Readiness.READY or isinstance(health, Answer):
            return report
        return _healthy(report, health)

    async def counters(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> Counters | None:
        """One reading; None when the server has no metrics, or none that are known here."""
        text = await self.metrics_text(endpoint, deadline_s / 2)
        if text is None:
            return None
        models: Collection[str] = {endpoint.model}
        if not metrics.knows(text, models):  # asked by an alias, counted under another name
            models = names_of(await self.cards(endpoint, deadline_s / 2), endpoint.model)
        return self.count(text, models)

    async def capabilities(self, endpoint: Endpoint, *, deadline_s: float = 5.0) -> Capabilities:
        cards, text = await asyncio.gather(self.cards(endpoint, deadline_s), self.metrics_text(endpoint, deadline_s))
        mine = find(cards, endpoint.model)
        return Capabilities(
            metrics=text is not None,
            context_tok=mine.context_tok if mine else None,
            cache_block_tok=self.cache_block(text) if text else None,
        )

    # What a kind does its own way.

    metrics_path = "/metrics"

    def count(self, text: Exposition, models: Collection[str]) -> Counters | None:
        return metrics.any_counters(text, models)

    def speaks(self, text: Exposition) -> bool:
        """Whether these are the metrics of an engine, and not those of a gateway in front, or a login page."""
        return any(name.startswith((metrics.VLLM, metrics.LLAMACPP, metrics.SGLANG)) for name in text.names)

    def cache_block(self, text: Exposition) -> int | None:  # noqa: ARG002 - a kind that says it overrides this
        """Tokens of one block of the prefix cache, where the metrics say it."""
        return None

    async def version(self, endpoint: Endpoint, deadline_s: float) -> tuple[str | None, str]:
        """The version and where it was read; (None, why not) when this server does not say."""
        return await self.version_at(endpoint, "/version", ("version",), deadline_s)

    # What they share.

    async def version_at(
        self, endpoint: Endpoint, path: str, keys: tuple[str, ...], deadline_s: float
    ) -> tuple[str | None, str]:
        value = await document(endpoint, path, deadline_s)
        version = text_or_none(within(value, *keys))
        return (version, path) if version else (None, "unavailable")

    async def cards(self, endpoint: Endpoint, deadline_s: float) -> tuple[ModelCard, ...]:
        answer = await get_json(endpoint, "/models", deadline_s=deadline_s)
        return (parse_listing(answer.value) or ()) if isinstance(answer, Answer) else ()

    async def metrics_text(self, endpoint: Endpoint, deadline_s: float) -> Exposition | None:
        answer = await get_text(endpoint, self.metrics_path, deadline_s=deadline_s, root=True)
        text = metrics.read(answer.value) if isinstance(answer, Answer) else None
        return text if text is not None and self.speaks(text) else None


async def document(endpoint: Endpoint, path: str, deadline_s: float) -> Any:
    """A JSON document of the server itself, or None where it has none. Raises when the server does not answer."""
    answer = await get_json(endpoint, path, deadline_s=deadline_s, root=True)
    if isinstance(answer, Answer):
        return answer.value
    if answer.kind is Lack.REFUSED:
        raise RequestRefused(f"{answer.detail}.", hint="Look at api_key_env: the key is missing or not taken.")
    if answer.kind in {Lack.UNREACHABLE, Lack.TIMEOUT, Lack.BROKEN}:
        raise Unreachable(f"{answer.detail}.", hint="Look at base_url, and at the engine's log.")
    return None


def _listed(endpoint: Endpoint, answer: Answer[Any] | NoAnswer) -> ReadinessReport:
    if isinstance(answer, NoAnswer):
        return ReadinessReport(*_lacking(answer))
    cards = parse_listing(answer.value)
    if cards is None:
        return ReadinessReport(
            Readiness.UNREACHABLE,
            f"{endpoint.base_url}/models answered JSON that is no model list; is this an OpenAI-compatible server?",
        )
    if not cards:
        return ReadinessReport(Readiness.LOADING, f"{endpoint.base_url}/models lists no model yet")
    mine = find(cards, endpoint.model)
    if mine is None:
        there = ", ".join(shown(cards))
        return ReadinessReport(
            Readiness.WRONG_MODEL, f"{endpoint.base_url} has no model {endpoint.model!r}; it has {there}", shown(cards)
        )
    if mine.loading:
        return ReadinessReport(Readiness.LOADING, f"{endpoint.model} is being loaded", shown(cards))
    return ReadinessReport(Readiness.READY, "", shown(cards))


def _lacking(answer: NoAnswer) -> tuple[Readiness, str]:
    if answer.kind is Lack.REFUSED:
        return Readiness.REFUSED, f"{answer.detail}: the key is missing or not taken"
    if answer.status == _STARTING:
        return Readiness.LOADING, answer.detail
    if answer.kind is Lack.NOT_FOUND:
        return Readiness.UNREACHABLE, f"{answer.detail}; base_url usually ends in /v1"
    return Readiness.UNREACHABLE, answer.detail


def _healthy(report: ReadinessReport, health: NoAnswer) -> ReadinessReport:
    """llama.cpp and SGLang list their model while they load it; a server without `/health` is believed."""
    if health.status == _STARTING:
        return ReadinessReport(Readiness.LOADING, health.detail, report.models)
    if health.kind in {Lack.UNREACHABLE, Lack.TIMEOUT, Lack.BROKEN} or (health.status or 0) >= 500:
        if health.kind is Lack.NOT_FOUND:
            return report
        return ReadinessReport(Readiness.UNREACHABLE, health.detail, report.models)
    return report
