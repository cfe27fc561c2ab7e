"""Everything that `pitstop gateway serve` puts together: event loop, accounting thread, metrics, the service itself."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from wsgiref.simple_server import WSGIServer

import uvloop

from pitstop.core.config.load import load
from pitstop.core.config.routes import host_and_port
from pitstop.core.config.schema import Config
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.gateway.front import Front
from pitstop.gateway.recorder import Recorder, Sink, write_log
from pitstop.gateway.service import Service

log = logging.getLogger("pitstop.gateway")
# The accounting thread may keep the event loop waiting for this long; Python's own 5 ms would show in every p99.
_SWITCH_S = 0.0005


def serve(home: Home, config_path: Path, environ: Mapping[str, str], started: Callable[[str], None]) -> None:
    """Serve until a signal comes. UsageError when it cannot begin. `started` is told where it listens."""
    config = load(config_path)
    _many_files()
    sys.setswitchinterval(_SWITCH_S)
    from pitstop.gateway.metrics import Metrics  # noqa: PLC0415 - a tenth of a second, after the file was checked

    metrics = Metrics()
    with _recording([write_log, metrics.take, *_ledger_sink(home, config, environ)]) as recorder:
        service_runner = _Run(home, config_path, environ, recorder, metrics, started)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(service_runner.run())


def check(home: Home, config_path: Path, environ: Mapping[str, str]) -> str:
    """Whether it could begin, without listening: where it would listen, or a UsageError."""
    return Service.check(home, config_path, environ)


class _Run:
    """The part that lives on the event loop."""

    def __init__(
        self,
        home: Home,
        config_path: Path,
        environ: Mapping[str, str],
        recorder: Recorder,
        metrics: object,
        started: Callable[[str], None],
    ) -> None:
        self._home, self._config_path, self._environ = home, config_path, environ
        self._recorder, self._metrics, self._started = recorder, metrics, started
        self._metrics_server: WSGIServer | None = None

    async def run(self) -> None:
        service = Service(self._home, self._config_path, self._environ, self._recorder.put)
        try:
            await service.run(self._ready)
        finally:
            if self._metrics_server is not None:
                self._metrics_server.shutdown()
                self._metrics_server.server_close()

    def _ready(self, front: Front, address: str) -> None:
        from pitstop.gateway.metrics import Gauges, Metrics  # noqa: PLC0415 - see above

        assert isinstance(self._metrics, Metrics)
        gateway = front.rules.gateway
        if gateway.metrics_listen:
            self._metrics.registry.register(Gauges(front, lambda: self._recorder.dropped))
            self._metrics_server = _expose(self._metrics, gateway.metrics_listen)
        if not len(front.keys):
            log.warning("there is no key, so every request is refused: pitstop gateway key add NAME")
        self._started(address)


def _expose(metrics: object, listen: str) -> WSGIServer:
    from prometheus_client import start_http_server  # noqa: PLC0415 - see above

    from pitstop.gateway.metrics import Metrics  # noqa: PLC0415

    assert isinstance(metrics, Metrics)
    host, port = host_and_port(listen)
    try:
        server, _thread = start_http_server(port, host, registry=metrics.registry)
    except OSError as error:
        raise UsageError(
            f"the metrics cannot be served on {listen}: {error.strerror or error}.",
            hint="Stop what listens there, or choose another `gateway.metrics_listen`.",
        ) from error
    return server


@contextlib.contextmanager
def _recording(sinks: Sequence[Sink]) -> Iterator[Recorder]:
    recorder = Recorder(sinks)
    recorder.start()
    try:
        yield recorder
    finally:
        recorder.stop()


def _ledger_sink(home: Home, config: Config, environ: Mapping[str, str]) -> list[Sink]:
    if config.gateway is None or not config.gateway.accounting:
        return []
    from pitstop.gateway.ledger_rows import LedgerRows  # noqa: PLC0415 - does not import the database itself

    return [LedgerRows(environ.get(config.host.ledger_url_env, "") or home.ledger, config.gateway.keep_accounts)]


def _many_files() -> None:
    """Two sockets per request: the usual limit of 1,024 files would end at 500 streams."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65536)), hard))
