"""How fast a long log is classified, in MiB of log per second of CPU on one core, best and worst of some runs.

    python -m benchmarks.incident_scan [--size-mib 1024] [--runs 3]

Four logs: of a healthy engine; one with a crash in every 64 MiB; one that repeats every prompt; one in Docker's
json-file form. The reference is `bytes.count` of one rare word over the same file, read in the same blocks.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pitstop.decisions.incidents.signatures import Catalogue
from pitstop.services.incidents.catalogue import catalogue
from pitstop.services.incidents.scan import ScanInput, scan

MIB = 1 << 20
STATS = (
    "(APIServer pid=1) INFO 09-06 14:03:11 [loggers.py:123] Engine 000: Avg prompt throughput: 12.3 tokens/s, Avg "
    "generation throughput: 79.2 tokens/s, Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%\n"
)
ACCESS = '(APIServer pid=1) INFO:     10.0.0.7:53212 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
METRICS = '(APIServer pid=1) INFO:     127.0.0.1:41234 - "GET /metrics HTTP/1.1" 200 OK\n'
PROMPT = (
    "(APIServer pid=1) INFO 09-06 14:03:12 [logger.py:43] Received request chatcmpl-abc: prompt: 'Why does this code "
    "stop with an error: RuntimeError: CUDA error: out of memory? It failed twice, and memory is free.', params: "
    "SamplingParams(n=1, temperature=0.6, max_tokens=512), prompt_token_ids: None, lora_request: None.\n"
)
CRASH = "(APIServer pid=1) INFO 09-06 14:03:11 [api_server.py:1] vLLM API server version 0.28.1\n" + "".join(
    f"(EngineCore_DP0 pid=171) ERROR 09-06 14:05:11 [core.py:710] {line}\n"
    for line in (
        "EngineCore encountered a fatal error.",
        "Traceback (most recent call last):",
        *[
            f'  File "/usr/lib/python3/dist-packages/vllm/x{at}.py", line {at}, in f{at}\n    f{at}()'
            for at in range(30)
        ],
        '  File "/usr/lib/python3/dist-packages/flashinfer/gemm.py", line 9, in _cudnn_gemm_fp8',
        "RuntimeError: Plan index 13 is invalid",
    )
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size-mib", type=int, default=1024)
    options.add_argument("--runs", type=int, default=3)
    arguments = options.parse_args()
    known = catalogue([])
    with tempfile.TemporaryDirectory() as folder:
        for name, lines, crashes in _kinds():
            path = Path(folder) / f"{name}.log"
            size = _write(path, lines, arguments.size_mib * MIB, crashes)
            runs = range(arguments.runs)
            seen = [_measured(size, partial(_incidents, path, known)) for _ in runs]
            reference = max(_measured(size, partial(_count, path))[0] for _ in runs)
            rates = sorted(rate for rate, _ in seen)
            print(
                f"{name:10} {size / MIB:6.0f} MiB  {rates[0]:6.0f} to {rates[-1]:6.0f} MiB/s of CPU, "
                f"{seen[0][1]} incidents; one bytes.count: {reference:.0f} MiB/s"
            )
            path.unlink()


def _kinds() -> Iterator[tuple[str, list[str], bool]]:
    everyday = [STATS, ACCESS, ACCESS, METRICS]
    yield "healthy", everyday, False
    yield "crashing", everyday, True
    yield "prompts", [*everyday, PROMPT], False
    wrapper = {"stream": "stderr", "time": "2026-09-06T12:03:11.123456789Z"}
    wrapped = [json.dumps({"log": line, **wrapper}) + "\n" for line in everyday]
    yield "json-file", wrapped, False


def _write(path: Path, lines: list[str], size: int, crashes: bool) -> int:
    source = random.Random(1)
    chunk = "".join(source.choice(lines) for _ in range(40_000)).encode()
    written = since = 0
    with path.open("wb") as stream:
        while written < size:
            written += stream.write(chunk)
            since += len(chunk)
            if crashes and since > 64 * MIB:
                since = 0
                written += stream.write(CRASH.encode())
    return written


def _incidents(path: Path, known: Catalogue) -> int:
    return len(scan(ScanInput(logs=[path]), known).incidents)


def _measured(size: int, work: Callable[[], int]) -> tuple[float, int]:
    begun = time.process_time()
    result = work()
    return size / MIB / (time.process_time() - begun), result


def _count(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(block.count(b"collective operation") for block in iter(lambda: stream.read(MIB), b""))


if __name__ == "__main__":
    main()
