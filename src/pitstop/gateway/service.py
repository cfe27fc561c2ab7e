"""One gateway from its start to its graceful stop: sockets, what ticks beside them, reload."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from aiohttp import web

from pitstop.core.config.gateway import Gateway
from pitstop.core.config.load import load
from pitstop.core.config.routes import host_and_port
from pitstop.core.errors import PitstopError, UsageError
from pitstop.core.home import Home
from pitstop.gateway.account import Account
from pitstop.gateway.control import Census, answering
from pitstop.gateway.door import Doors
from pitstop.gateway.front import Front, Rules
from pitstop.gateway.handler import handle
from pitstop.gateway.keys import KeyRing, read_keys
from pitstop.gateway.listener import Listener
from pitstop.gateway.ticking import Ticking, memory_total_bytes
from pitstop.gateway.upstream import Connections

log = logging.getLogger("pitstop.gateway")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Service:
    """Serves until `stop` is called or a signal comes; a second one ends it at once."""

    def __init__(self, home: Home, config_path: Path, environ: Mapping[str, str], record: Callable[[Account], None]):
        self._home = home
        self._config_path = config_path
        self._environ = environ
        self._record = record
        self._signals = 0
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        self.front: Front | None = None

    async def run(self, ready: Callable[[Front, str], None] = lambda _front, _address: None) -> None:
        """UsageError when it may not or cannot listen; returns when it has stopped.

        `ready` is told the address, with the port that was given where 0 was asked for.
        """
        rules, keys = self._rules(), read_keys(self._home)
        _refuse_open_door(rules.gateway, len(keys))
        tls = _tls(rules.gateway)
        with contextlib.closing(Connections()) as connections:
            doors = Doors(self._home, time.monotonic)
            front = self.front = Front(self._home, rules, KeyRing(keys), doors, connections, self._record, time.time)
            front.doors.look(rules.engines)
            listener = Listener(lambda request: handle(front, request), rules.gateway)
            runner = web.ServerRunner(listener, handle_signals=False, shutdown_timeout=1.0)
            await runner.setup()
            try:
                site = await _listen(runner, rules.gateway, tls)
                address = _address(runner)
                await self._serve(front, listener, site, lambda: ready(front, address))
            finally:
                await runner.cleanup()

    @classmethod
    def check(cls, home: Home, config_path: Path, environ: Mapping[str, str]) -> str:
        """Where it would listen; UsageError when it may not begin. Touches nothing."""
        gateway = _read_rules(config_path, environ).gateway
        _refuse_open_door(gateway, len(read_keys(home)))
        _tls(gateway)
        return gateway.listen

    async def _serve(self, front: Front, listener: Listener, site: web.TCPSite, ready: Callable[[], None]) -> None:
        ticking = Ticking(front, self._config_path, self.reload)
        with _signals(self._signal, self.reload):
            async with answering(self._home, lambda: _census(front)):
                beside = asyncio.create_task(ticking.run())
                try:
                    ready()
                    await self._stop.wait()
                    await self._finish(front, listener, site)
                finally:
                    beside.cancel()
                    await asyncio.gather(beside, return_exceptions=True)

    async def _finish(self, front: Front, listener: Listener, site: web.TCPSite) -> None:
        """Take no new request, let those inside end, wait for them as long as is allowed."""
        front.stopping = True
        await site.stop()
        listener.pre_shutdown()
        front.doors.ring()
        log.info("stopping: %d request(s) still running", front.total)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(front.rules.gateway.stop_deadline):
                while front.total and not await self._hurried(0.05):
                    pass

    async def _hurried(self, patience_s: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._hurry.wait()
        return self._hurry.is_set()

    def stop(self) -> None:
        """Begin to stop: no new request, and those inside may end."""
        self._stop.set()

    def hurry(self) -> None:
        """Wait for nobody any more."""
        self._hurry.set()

    def reload(self) -> None:
        """Read configuration and keys again; what is wrong is told, and the old stays. Running requests keep theirs."""
        assert self.front is not None
        try:
            rules, keys = self._rules(), read_keys(self._home)
        except PitstopError as error:
            log.warning("reload: nothing was changed: %s", error.message)
            return
        if rules.gateway.listen != self.front.rules.gateway.listen:
            log.warning("reload: `gateway.listen` changes only with a restart")
        self.front.rules, self.front.keys = rules, KeyRing(keys)
        self.front.doors.look(rules.engines)
        log.info("reload: %d route(s), %d key(s)", len(rules.stations), len(keys))

    def _rules(self) -> Rules:
        return _read_rules(self._config_path, self._environ)

    def _signal(self) -> None:
        self._signals += 1
        self.stop() if self._signals == 1 else self.hurry()


def _read_rules(config_path: Path, environ: Mapping[str, str]) -> Rules:
    config = load(config_path)
    if config.gateway is None or not config.gateway.route:
        raise UsageError(
            f"{config_path} has no route for the gateway.",
            hint='Add at least:\n[gateway.route.mid]\nengine = "NAME"',
        )
    return Rules.of(config, environ, memory_total_bytes())


def _census(front: Front) -> Census:
    front.doors.look(front.rules.engines)
    return Census(os.getpid(), {engine: count for engine, count in front.doors.inside.items() if count})


def _refuse_open_door(gateway: Gateway, keys: int) -> None:
    host, _port = host_and_port(gateway.listen)
    if not keys and host not in _LOOPBACK and not host.startswith("127."):
        raise UsageError(
            f"the gateway would listen on {gateway.listen} without a single key.",
            hint="Make one with `pitstop gateway key add NAME`, or listen on 127.0.0.1.",
        )


def _tls(gateway: Gateway) -> ssl.SSLContext | None:
    if not gateway.tls_certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(gateway.tls_certificate, gateway.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the certificate {gateway.tls_certificate} or its key {gateway.tls_key} cannot be used: {error}.",
            hint="Both must be PEM files that belong together and that this user may read.",
        ) from error
    return context


def _address(runner: web.ServerRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _listen(runner: web.ServerRunner, gateway: Gateway, tls: ssl.SSLContext | None) -> web.TCPSite:
    host, port = host_and_port(gateway.listen)
    site = web.TCPSite(runner, host, port, ssl_context=tls, backlog=1024)
    try:
        await site.start()
    except OSError as error:
        raise UsageError(
            f"the gateway cannot listen on {gateway.listen}: {error.strerror or error}.",
            hint="Stop what listens there, or choose another `gateway.listen`.",
        ) from error
    return site


@contextlib.contextmanager
def _signals(stop: Callable[[], None], reload: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    wanted = {signal.SIGINT: stop, signal.SIGTERM: stop, signal.SIGHUP: reload}
    try:
        for number, what in wanted.items():
            loop.add_signal_handler(number, what)
    except (ValueError, RuntimeError):  # not the main thread, as in tests
        wanted = {}
    try:
        yield
    finally:
        for number in wanted:
            loop.remove_signal_handler(number)
