"""How many streams of 100 events/s the client measures before it, not the server, is the limit.

    python -m benchmarks.client_scale [--streams 1,16,64,256] [--seconds 5] [--repeat 3]

All streams of a row start at once. A decode error is against what the endpoint really did (its own clock at the first
and last token); a TTFT error is the time from the endpoint handing the first token to the kernel to the client's stamp.
"Said so" counts the replies that the client itself marked as late.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

from benchmarks.endpoint import head, paced, request, row, truths
from pitstop.client.chat import ChatClient, Reply
from pitstop.client.endpoint import Endpoint
from pitstop.client.loop import run

RATE = 100.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--streams", default="1,16,64,256")
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--repeat", type=int, default=3)
    chosen = options.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {chosen.repeat} runs a row\n")
    print(head("streams", "decode error, median", "worst", "TTFT error, median", "worst", "client CPU",
               "endpoint late, worst", "said so"))  # fmt: skip
    with paced() as base_url:
        for streams in map(int, chosen.streams.split(",")):
            print(_line(base_url, streams, int(RATE * chosen.seconds), chosen.repeat), flush=True)


def _line(base_url: str, streams: int, tokens: int, repeat: int) -> str:
    decode, first, late, marked, busy = [], [], [], 0, []
    for turn in range(repeat):
        names = [f"{streams}/{turn}/{number}" for number in range(streams)]
        wall, cpu = time.monotonic(), time.process_time()
        replies = run(_measure(base_url, names, tokens))
        busy.append((time.process_time() - cpu) / (time.monotonic() - wall))
        known = truths(base_url)
        for name, reply in zip(names, replies, strict=True):
            truth = known[name]
            decode.append(_decode_error(reply, truth, tokens))
            first.append((reply.exchange.sent_at or 0.0) + (reply.record.ttft_s or 0.0) - truth["first_at"])
            late.append(truth["late_s"])
            marked += any(anomaly.startswith("client-late") for anomaly in reply.record.anomalies)
    errors = f"{statistics.median(decode):.3%}", f"{max(decode):.2%}", _ms(statistics.median(first)), _ms(max(first))
    return row(streams, *errors, f"{statistics.median(busy):.0%}", _ms(max(late)), f"{marked} of {len(decode)}")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


async def _measure(base_url: str, names: list[str], tokens: int) -> list[Reply]:
    requests = [request(name, tokens, rate_tok_s=RATE, ttft_s=1.0) for name in names]
    return await ChatClient(Endpoint(base_url, "paced")).gather(requests)


def _decode_error(reply: Reply, truth: dict[str, float], tokens: int) -> float:
    """As a share, without sign. A reply without a rate is wholly wrong."""
    if reply.record.decode_tok_s is None:
        return 1.0
    real = (tokens - truth["first_event_tokens"]) / (truth["last_at"] - truth["first_at"])
    return abs(reply.record.decode_tok_s / real - 1)


if __name__ == "__main__":
    main()
