"""How long pitstop takes until it does something: `--help`, and the first request of `bench`.

    python -m benchmarks.start_up [--repeat 15]

Each is a new process, in turn with `python -c pass`, the reference. For `bench` the time is that from starting the
process to the endpoint having read a request: the first of all (it asks which engine it is), and the first to generate.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from benchmarks.endpoint import head, paced, row

PITSTOP = Path(sys.executable).with_name("pitstop")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeat", type=int, default=15)
    repeat = options.parse_args().repeat
    times: dict[str, list[float]] = {}
    with paced("--rate", "10000", "--ttft", "0.001") as base_url:
        for _ in range(repeat):
            for name, seconds in measured(base_url).items():
                times.setdefault(name, []).append(seconds)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {repeat} runs each\n")
    print(head("what", "median", "fastest", "slowest", "times `python -c pass`"))
    reference = statistics.median(times["python -c pass"])
    for name, each in times.items():
        spread = (f"{statistics.median(each) * 1e3:.0f} ms", f"{min(each) * 1e3:.0f} ms", f"{max(each) * 1e3:.0f} ms")
        print(row(name, *spread, f"{statistics.median(each) / reference:.1f}"))


def measured(base_url: str) -> dict[str, float]:
    """Seconds of one round."""
    return {
        "python -c pass": _run([sys.executable, "-c", "pass"]),
        "pitstop --help": _run([str(PITSTOP), "--help"]),
        "pitstop bench, first request": _first_request(),
        "pitstop bench, first request to generate": _first_to_generate(base_url),
    }


def _run(argv: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def _first_request() -> float:
    """Until somebody connects to a port where nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        bench = _bench(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", folder)
        listener.settimeout(30)
        listener.accept()[0].close()
        took = time.monotonic() - began
        listener.close()
        bench.wait(60)
    return took


def _first_to_generate(base_url: str) -> float:
    """By the clock that all processes of a machine share."""
    seen = len(_read_at(base_url))
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        _bench(base_url, folder).wait(60)
    return _read_at(base_url)[seen] - began


def _read_at(base_url: str) -> list[float]:
    with urllib.request.urlopen(base_url.removesuffix("/v1") + "/truth", timeout=10) as reply:
        return [truth["read_at"] for truth in json.load(reply)]


def _bench(base_url: str, home: str) -> subprocess.Popen[bytes]:
    argv = [str(PITSTOP), "bench", "--base-url", base_url, "--model", "paced"]
    argv += ["--ruler", "prefill", "--pp", "100", "--runs", "1"]
    environment = {**os.environ, "PITSTOP_HOME": home}
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


if __name__ == "__main__":
    main()
