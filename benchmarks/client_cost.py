"""CPU time of the client per event, against a plain aiohttp loop that only finds `usage`, alternated in one run.

    python -m benchmarks.client_cost [--streams 16] [--rate 100] [--seconds 5] [--turns 5]

The client's time includes everything: connections, stamping, its heartbeat, and the whole accounting afterwards. The
plain loop splits lines and looks for usage, and keeps nothing: what one writes in ten minutes. It runs under asyncio's
own loop, as one would write it, and once more under uvloop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable

import aiohttp

from benchmarks.endpoint import head, paced, request, row
from pitstop.client.chat import ChatClient
from pitstop.client.endpoint import Endpoint
from pitstop.client.loop import run
from pitstop.client.negotiate import Agreement, UsageMode, payload

Contender = Callable[[str, int, int, float], int]  # returns how many events it read


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--streams", type=int, default=16)
    options.add_argument("--rate", type=float, default=100.0)
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--turns", type=int, default=5)
    chosen = options.parse_args()
    costs: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    with paced() as base_url:
        for _ in range(chosen.turns):
            for name, contender in CONTENDERS.items():
                start = time.process_time()
                events = contender(base_url, chosen.streams, int(chosen.rate * chosen.seconds), chosen.rate)
                costs[name].append((time.process_time() - start) / events * 1e6)
    report(costs)


def report(costs: dict[str, list[float]]) -> None:
    turns = len(costs["plain"])
    print(f"{turns} turns, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print(head("client", "CPU per event, median", "least to most", "ratio to plain, median of pairs", "least to most"))
    for name, values in costs.items():
        ratios = [value / plain for value, plain in zip(values, costs["plain"], strict=True)]
        spread = f"{min(values):.1f} to {max(values):.1f} µs"
        print(row(name, f"{statistics.median(values):.1f} µs", spread, f"{statistics.median(ratios):.2f}",
                  f"{min(ratios):.2f} to {max(ratios):.2f}"))  # fmt: skip


def ours(base_url: str, streams: int, tokens: int, rate: float) -> int:
    """pitstop's client, with usage at the end as the plain loop has it."""
    return _ours(base_url, streams, tokens, rate, UsageMode.AT_END)


def ours_counted(base_url: str, streams: int, tokens: int, rate: float) -> int:
    """pitstop's client with usage in every event, which makes events longer."""
    return _ours(base_url, streams, tokens, rate, UsageMode.PER_EVENT)


def _ours(base_url: str, streams: int, tokens: int, rate: float, mode: UsageMode) -> int:
    client = ChatClient(Endpoint(base_url, "paced"), agreement=Agreement(mode))
    replies = run(client.gather([request("", tokens, rate_tok_s=rate)] * streams))
    assert all(reply.record.completion_tokens == tokens for reply in replies)
    return sum(reply.record.events for reply in replies)


def plain(base_url: str, streams: int, tokens: int, rate: float) -> int:
    """aiohttp as it is usually written."""
    return asyncio.run(_plain(base_url, streams, tokens, rate))


def plain_uvloop(base_url: str, streams: int, tokens: int, rate: float) -> int:
    """The same under uvloop."""
    return run(_plain(base_url, streams, tokens, rate))


async def _plain(base_url: str, streams: int, tokens: int, rate: float) -> int:
    body = payload(request("", tokens, rate_tok_s=rate), "paced", Agreement(UsageMode.AT_END))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        counts = await asyncio.gather(*(_read(session, base_url, body) for _ in range(streams)))
    assert all(count[1] == tokens for count in counts)
    return sum(count[0] for count in counts) - 4 * streams  # role, finish, usage and [DONE] are no tokens


async def _read(session: aiohttp.ClientSession, base_url: str, body: bytes) -> tuple[int, int]:
    events, tokens = 0, 0
    headers = {"Content-Type": "application/json"}
    async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as reply:
        async for line in reply.content:
            if line.startswith(b"data: "):
                events += 1
                if b'"usage"' in line:
                    tokens = json.loads(line[6:])["usage"]["completion_tokens"]
    return events, tokens


CONTENDERS: dict[str, Contender] = {
    "plain": plain,
    "pitstop": ours,
    "pitstop, counted per event": ours_counted,
    "plain, uvloop": plain_uvloop,
}

if __name__ == "__main__":
    main()
