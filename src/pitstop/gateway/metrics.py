"""Prometheus metrics: filled by the accounting thread, read on a port of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pitstop.decisions.ejection import is_ejected
from pitstop.gateway.account import Account
from pitstop.gateway.front import Front

# A first token comes after 20 ms of a small model or minutes of a long prompt; an answer may take half an hour.
_TTFT_BUCKETS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300)
_E2E_BUCKETS = (0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)


class Metrics:
    """A sink for accounts. A route of "" stands for requests that were refused before theirs was known."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self._requests = Counter(
            "pitstop_gateway_requests",
            "Requests by their end.",
            ["key", "route", "answered_by", "api", "outcome"],
            registry=registry,
        )
        self._refusals = Counter(
            "pitstop_gateway_refusals", "What the gateway refused itself, by reason.", ["reason"], registry=registry
        )
        self._tokens = Counter(
            "pitstop_gateway_tokens", "Tokens as the engines counted them.", ["key", "route", "kind"], registry=registry
        )
        self._unknown = Counter(
            "pitstop_gateway_unknown_usage",
            "Answers whose engine did not say how many tokens they had.",
            ["route"],
            registry=registry,
        )
        self._failures = Counter(
            "pitstop_gateway_engine_failures", "Engines that did not answer, by route.", ["route"], registry=registry
        )
        self._fallbacks = Counter(
            "pitstop_gateway_fallbacks",
            "Answers by another route than asked.",
            ["route", "answered_by"],
            registry=registry,
        )
        self._budget = Counter(
            "pitstop_gateway_thinking_budget",
            "Whether engines kept to a budget that was put in.",
            ["route", "outcome"],
            registry=registry,
        )
        self._ttft = Histogram(
            "pitstop_gateway_ttft_seconds",
            "From the request to the first generated token.",
            ["route"],
            buckets=_TTFT_BUCKETS,
            registry=registry,
        )
        self._e2e = Histogram(
            "pitstop_gateway_request_seconds",
            "From the request to its end.",
            ["route"],
            buckets=_E2E_BUCKETS,
            registry=registry,
        )
        self._held = Counter(
            "pitstop_gateway_held_seconds", "Time that requests waited at a held door.", ["route"], registry=registry
        )

    def take(self, batch: Sequence[Account]) -> None:
        for account in batch:
            self._take(account)

    def _take(self, account: Account) -> None:
        route = account.route
        self._requests.labels(account.key, route, account.answered_by, account.api, account.outcome.value).inc()
        self._e2e.labels(route).observe(account.e2e_s)
        if account.outcome.value == "refused":
            self._refusals.labels(account.reason).inc()
        if account.ttft_s is not None:
            self._ttft.labels(route).observe(account.ttft_s)
        if account.held_s:
            self._held.labels(route).inc(account.held_s)
        for failure in account.failures:
            self._failures.labels(failure.partition(": ")[0]).inc()
        if account.answered_by not in ("", route):
            self._fallbacks.labels(route, account.answered_by).inc()
        if account.budget_kept is not None:
            self._budget.labels(route, account.budget_kept.value).inc()
        self._count_tokens(account)

    def _count_tokens(self, account: Account) -> None:
        usage = account.usage
        kinds = {
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
            "reasoning": usage.reasoning_tokens,
            "cached": usage.cached_tokens,
        }
        for kind, count in kinds.items():
            if count is not None:
                self._tokens.labels(account.key, account.route, kind).inc(count)
        if account.status == 200 and account.answered_by and usage.prompt_tokens is None:
            self._unknown.labels(account.route).inc()


class Gauges(Collector):
    """What is so at this moment, read from the front when somebody asks."""

    def __init__(self, front: Front, dropped: Callable[[], int]) -> None:
        self._front = front
        self._dropped = dropped

    def collect(self) -> Iterable[Metric]:
        front = self._front
        engines = list(front.rules.engines)
        health = dict(front.health)
        yield _by_engine(
            "in_flight", "Requests inside an engine.", {name: front.doors.inside[name] for name in engines}
        )
        yield _by_engine("door_held", "1 while the door is held.", {n: int(n in front.doors.held) for n in engines})
        ejected = {name: int(name in health and is_ejected(health[name])) for name in engines}
        yield _by_engine("engine_ejected", "1 while an engine is left alone.", ejected)
        yield GaugeMetricFamily("pitstop_gateway_waiting", "Requests at a held door.", value=front.doors.waiting)
        yield GaugeMetricFamily("pitstop_gateway_requests_inside", "Requests inside the gateway.", value=front.total)
        short = int(front.short_of_memory)
        yield GaugeMetricFamily("pitstop_gateway_short_of_memory", "1 while requests are shed for it.", value=short)
        lost = self._dropped()
        yield GaugeMetricFamily("pitstop_gateway_accounts_dropped", "Requests without a ledger row.", value=lost)


def _by_engine(name: str, words: str, values: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"pitstop_gateway_{name}", words, labels=["engine"])
    for engine, value in values.items():
        family.add_metric([engine], value)
    return family
