"""The fronts that are compared, each started as its own manual says, and what a process costs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

KEY_NAME = "bench"
LITELLM_KEY = "sk-" + "0123456789abcdef" * 3  # it does not start without one


@dataclass
class Front:
    """One way to the engine. `pid` is the root of its processes."""

    name: str
    port: int
    pid: int
    model: str
    key: str = "none"
    start_s: float | None = None
    notes: dict[str, str] = field(default_factory=dict)

    def cpu_s(self) -> float:
        """CPU seconds of the whole tree, user and system."""
        return sum(sum(process.cpu_times()[:2]) for process in self._tree())

    def resident_mib(self) -> float:
        return float(sum(process.memory_info().rss for process in self._tree()) / 2**20)

    def _tree(self) -> list[psutil.Process]:
        root = psutil.Process(self.pid)
        return [root, *root.children(recursive=True)]


@contextlib.contextmanager
def process(argv: list[str], log: Path, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        running = subprocess.Popen(argv, stdout=out, stderr=out, env={**os.environ, **environ})
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


@contextlib.contextmanager
def gateway(port: int, engine_port: int, folder: Path) -> Iterator[Front]:
    """pitstop's, with a key, a rewritten model name, metrics, a log line and a ledger row per request."""
    config = folder / "pitstop.toml"
    config.write_text(
        f'[engine.a]\nkind = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:{engine_port}/v1"\n'
        f'[gateway]\nlisten = "127.0.0.1:{port}"\nmetrics_listen = "127.0.0.1:{port + 1}"\n'
        '[gateway.route.mid]\nengine = "a"\n'
    )
    home = {"PITSTOP_HOME": str(folder / "home")}
    command = [sys.executable, "-c", _GATEWAY, "gateway"]
    made = subprocess.run(
        [*command, "key", "add", KEY_NAME, "--json"], env={**os.environ, **home}, check=True, capture_output=True
    )
    begun_s = time.monotonic()
    with process([*command, "serve", "--config", str(config)], folder / "gateway.log", **home) as running:
        wait_until_up(port, running)
        start_s = time.monotonic() - begun_s
        yield Front("pitstop", port, running.pid, "mid", json.loads(made.stdout)["key"], start_s)


# The commands without the rest of the command line, so that the benchmark runs before they are registered there.
_GATEWAY = "import typer, pitstop.cli.gateway as room; app = typer.Typer(); app.callback()(lambda: None); \
room.register(app); app()"


@contextlib.contextmanager
def nginx(port: int, engine_port: int, folder: Path) -> Iterator[Front | None]:
    """One worker, kept connections to the engine, no buffering: the least that a proxy can do."""
    binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if binary is None:
        yield None
        return
    config = folder / "nginx.conf"
    config.write_text(f"""
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx-error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream engine {{ server 127.0.0.1:{engine_port}; keepalive 1024; }}
  server {{ listen 127.0.0.1:{port};
    location / {{ proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection "";
                  proxy_buffering off; }} }}
}}
""")
    with process([binary, "-c", str(config), "-p", str(folder)], folder / "nginx.log") as running:
        wait_until_up(port, running)
        yield Front("nginx", port, running.pid, "m")


@contextlib.contextmanager
def litellm(port: int, engine_port: int, folder: Path, binary: str) -> Iterator[Front | None]:
    """LiteLLM's proxy, one worker, no database."""
    if not binary:
        yield None
        return
    config = folder / "litellm.yaml"
    config.write_text(
        "model_list:\n  - model_name: mid\n    litellm_params:\n      model: openai/m\n"
        f"      api_base: http://127.0.0.1:{engine_port}/v1\n      api_key: none\n"
        f"general_settings:\n  master_key: {LITELLM_KEY}\n"
    )
    argv = [binary, "--config", str(config), "--port", str(port), "--host", "127.0.0.1", "--telemetry", "False"]
    begun_s = time.monotonic()
    environ = {"LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with process(argv, folder / "litellm.log", **environ) as running:
        wait_until_up(port, running, patience_s=180)
        yield Front("litellm", port, running.pid, "mid", LITELLM_KEY, time.monotonic() - begun_s)


def wait_until_up(port: int, running: subprocess.Popen[bytes], patience_s: float = 30.0) -> None:
    until = time.monotonic() + patience_s
    while time.monotonic() < until and running.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=2).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise SystemExit(f"nothing came up on port {port}")
