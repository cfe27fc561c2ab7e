"""Real vLLM on the CPU, booted for a test: about 40 s until it is ready, about 4 GB."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from pitstop.client.endpoint import Endpoint
from real.vllm_env import DEFAULT_VERSION, huggingface_model, serve_environment, vllm_environment
from support.embedded import free_port

BOOT_S = 600.0


@contextmanager
def vllm_serving(
    log: Path, *arguments: str, version: str = DEFAULT_VERSION, name: str = "smol"
) -> Iterator[tuple[Endpoint, subprocess.Popen[bytes]]]:
    """Serve SmolLM2-135M for as long as the block runs, in a session of its own; `log` gets what it says."""
    port = free_port()
    argv = [str(vllm_environment(version) / "bin/vllm"), "serve", str(huggingface_model())]
    argv += ["--host", "127.0.0.1", "--port", str(port), "--max-model-len", "4096", "--enforce-eager"]
    argv += ["--served-model-name", name, *arguments]
    with log.open("wb") as said:
        environ = os.environ | serve_environment()
        engine = subprocess.Popen(
            argv, stdout=said, stderr=subprocess.STDOUT, env=environ, start_new_session=True, cwd=log.parent
        )
        try:
            _wait_until_ready(engine, port, log)
            yield Endpoint(f"http://127.0.0.1:{port}/v1", name), engine
        finally:
            _stop(engine)


def _wait_until_ready(engine: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + BOOT_S
    while time.monotonic() < until and engine.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise AssertionError(f"vLLM did not start:\n{log.read_text(errors='replace')[-3000:]}")


def _stop(engine: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the server, then SIGKILL to whatever of its session is left: its workers outlive it at times."""
    engine.send_signal(signal.SIGTERM)
    try:
        engine.wait(60)
    except subprocess.TimeoutExpired:
        engine.kill()
        engine.wait()
    try:
        os.killpg(engine.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
