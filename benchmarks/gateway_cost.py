"""What the gateway costs, beside nginx and LiteLLM, in front of the same engine and in the same run.

python -m benchmarks.gateway_cost [--rounds 5] [--requests 600] [--streams 1000] [--litellm BINARY] [--out FILE]

Latency is measured in rounds that take every front in turn, so that a busy minute of the box falls on all alike; CPU
is what the kernel charged to the front's processes, so requests per second "on one core" is its inverse.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.fronts import Front, gateway, litellm, nginx, process

PORT = 28400
EVENTS, PACE_S = 200, 0.02


def request(front: Front, *, stream: bool) -> bytes:
    fields = {"model": front.model, "messages": [{"role": "user", "content": "hello"}], "stream": stream}
    body = json.dumps(fields).encode()
    head = f"host: x\r\nauthorization: Bearer {front.key}\r\ncontent-type: application/json\r\n"
    return b"POST /v1/chat/completions HTTP/1.1\r\n%scontent-length: %d\r\n\r\n%s" % (head.encode(), len(body), body)


def latencies_s(front: Front, count: int) -> list[float]:
    """Small requests, one after the other on one connection."""
    sent, taken = request(front, stream=False), []
    with socket.create_connection(("127.0.0.1", front.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            begun_s = time.perf_counter()
            connection.sendall(sent)
            read_reply(connection)
            taken.append(time.perf_counter() - begun_s)
    return taken


def read_reply(connection: socket.socket) -> None:
    text = b""
    while b"\r\n\r\n" not in text:
        text += received(connection)
    head, _, body = text.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise SystemExit(f"a front answered {text[:500]!r}")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += received(connection)


def received(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise SystemExit("a front closed the connection")
    return data


async def one_stream(front: Front) -> int:
    """Events with text that arrived."""
    reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
    writer.write(request(front, stream=True))
    events = 0
    while data := await reader.read(65536):
        events += data.count(b" hello")
        if b"[DONE]" in data:
            break
    writer.close()
    return events


async def streams(front: Front, count: int) -> dict[str, float]:
    cpu_s = front.cpu_s()
    running = [asyncio.create_task(one_stream(front)) for _ in range(count)]
    await asyncio.sleep(EVENTS * PACE_S / 2)
    resident = front.resident_mib()
    events = sum(await asyncio.gather(*running))
    lost = 1 - events / (count * EVENTS)
    return {
        "us_per_event": (front.cpu_s() - cpu_s) / max(1, events) * 1e6,
        "resident_mib": resident,
        "lost_share": lost,
    }


def measured(fronts: list[Front], rounds: int, requests: int) -> dict[str, dict[str, Any]]:
    taken: dict[str, list[list[float]]] = {front.name: [] for front in fronts}
    cpu: dict[str, float] = dict.fromkeys(taken, 0.0)
    for front in fronts:
        latencies_s(front, 50)
    for _ in range(rounds):
        for front in fronts:
            before_s = front.cpu_s()
            taken[front.name].append(latencies_s(front, requests if front.name != "litellm" else requests // 10))
            cpu[front.name] += front.cpu_s() - before_s
    return {name: _summary(taken[name], cpu[name], taken["direct"]) for name in taken}


def _summary(rounds: list[list[float]], cpu_s: float, direct: list[list[float]]) -> dict[str, Any]:
    added = [statistics.median(mine) - statistics.median(plain) for mine, plain in zip(rounds, direct, strict=True)]
    count = sum(map(len, rounds))
    per_request = cpu_s / count
    return {
        "requests": count,
        "added_ms_by_round": [round(value * 1e3, 4) for value in added],
        "added_ms": round(statistics.median(added) * 1e3, 4),
        "cpu_us_per_request": round(per_request * 1e6, 1),
        "requests_per_core_s": round(1 / per_request) if per_request else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--litellm", default="")
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        argv = [sys.executable, "-m", "benchmarks.canned_engine", str(PORT), str(EVENTS), str(PACE_S)]
        engine = stack.enter_context(process(argv, folder / "engine.log"))
        time.sleep(0.5)
        direct = Front("direct", PORT, engine.pid, "m")
        found = [
            stack.enter_context(gateway(PORT + 10, PORT, folder)),
            stack.enter_context(nginx(PORT + 20, PORT, folder)),
            stack.enter_context(litellm(PORT + 30, PORT, folder, options.litellm)),
        ]
        fronts = [direct, *(front for front in found if front is not None)]
        result = measured(fronts, options.rounds, options.requests)
        for front in fronts[1:]:
            result[front.name]["start_s"] = front.start_s
            result[front.name]["streams_50"] = uvloop.run(streams(front, 50))
            if front.name != "litellm":  # it would take minutes
                result[front.name][f"streams_{options.streams}"] = uvloop.run(streams(front, options.streams))
    text = json.dumps(result, indent=2)
    print(text)
    if options.out:
        Path(options.out).write_text(text + "\n")


if __name__ == "__main__":
    main()
