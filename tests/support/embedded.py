"""The embedded engine, really started: llama.cpp with SmolLM2-135M as a process of its own, ready in about a second."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from pitstop.client.endpoint import Endpoint
from pitstop.supply.model import cache_folder, embedded_model

MODEL = "smollm2"
BOOT_S = 120.0


def model_file() -> Path:
    return embedded_model(cache_folder(os.environ))


@contextmanager
def embedded_engine(log: Path, *arguments: str, environ: dict[str, str] | None = None) -> Iterator[Endpoint]:
    """Serve for as long as the block runs; `log` gets what the engine says."""
    port = free_port()
    argv = [sys.executable, "-m", "pitstop.supply.llamacpp_server", "--model", str(model_file()), "--port", str(port)]
    with log.open("wb") as said:
        engine = subprocess.Popen([*argv, *arguments], stderr=said, env=os.environ | (environ or {}))
        try:
            _wait_until_ready(engine, port, log)
            yield Endpoint(f"http://127.0.0.1:{port}/v1", MODEL)
        finally:
            engine.send_signal(signal.SIGTERM)
            try:
                engine.wait(30)
            except subprocess.TimeoutExpired:
                engine.kill()
                engine.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(engine: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + BOOT_S
    while time.monotonic() < until and engine.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.05)
    raise AssertionError(f"the embedded engine did not start:\n{log.read_text(errors='replace')[-2000:]}")
