"""The watchdog's own Prometheus metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from pitstop.core.errors import UsageError
from pitstop.decisions.watchdog import Do, Health, Step, WatchState


class WatchMetrics:
    """One registry of its own, so that two watchdogs in one process do not collide."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._health = Gauge(
            "pitstop_watch_health",
            "1 for the state that the engine is in.",
            ["engine", "state"],
            registry=self.registry,
        )
        self._strikes = Gauge("pitstop_watch_strikes", "Failed probes in a row.", ["engine"], registry=self.registry)
        self._last_token = Gauge(
            "pitstop_watch_last_token_timestamp_seconds",
            "When the engine last generated a token for the watchdog.",
            ["engine"],
            registry=self.registry,
        )
        self._looks = Counter("pitstop_watch_looks", "Probes sent.", ["engine"], registry=self.registry)
        self._restarts = Counter("pitstop_watch_restarts", "Restarts ordered.", ["engine"], registry=self.registry)

    def record(self, engine: str, state: WatchState, step: Step) -> None:
        for health in Health:
            self._health.labels(engine, str(health)).set(1 if health is step.health else 0)
        self._strikes.labels(engine).set(state.strikes)
        if state.last_token_at_s is not None:
            self._last_token.labels(engine).set(state.last_token_at_s)
        self._looks.labels(engine).inc()
        if step.action is Do.RESTART:
            self._restarts.labels(engine).inc()

    def serve(self, listen: str) -> None:
        """Serve them at `host:port`; UsageError when the address is none, or is taken."""
        host, _, port = listen.rpartition(":")
        try:
            start_http_server(int(port), addr=host.strip("[]") or "127.0.0.1", registry=self.registry)
        except (ValueError, OverflowError, OSError) as error:
            raise UsageError(
                f"watch.metrics_listen {listen!r} cannot be served: {error}.",
                hint="Write host:port, as in 127.0.0.1:9471.",
            ) from error
