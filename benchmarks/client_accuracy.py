"""How far the client's decode rate and TTFT are from the truth, over rates and tokens per event.

    python -m benchmarks.client_accuracy [--repeat 3] [--rates 20,100,2000]

One stream at a time. The truth is what the endpoint really did, by the clock that both processes share: tokens after
its first event over the time from handing the first event to the kernel to the last, and when it handed over the first.
"Said so" counts the replies that the client itself marked as late, because this machine did not let it run.
"""

from __future__ import annotations

import argparse
import os
import statistics

from benchmarks.endpoint import head, paced, request, row, truths
from pitstop.client.chat import ChatClient, Reply
from pitstop.client.endpoint import Endpoint
from pitstop.client.loop import run
from pitstop.client.negotiate import Agreement, UsageMode

RATES = (20, 50, 100, 200, 500, 1000, 2000)
SIZES = ((1, 1), (3, 3), (5, 5), (1, 5))
TTFT_S = 0.2


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--rates", default=",".join(map(str, RATES)))
    chosen = options.parse_args()
    rates = [float(rate) for rate in chosen.rates.split(",")]
    with paced() as base_url:
        replies = run(measure(base_url, rates, chosen.repeat))
        report(replies, truths(base_url), rates, chosen.repeat)


async def measure(base_url: str, rates: list[float], repeat: int) -> dict[str, Reply]:
    replies = {}
    for mode in (UsageMode.PER_EVENT, UsageMode.AT_END):
        client = ChatClient(Endpoint(base_url, "paced"), agreement=Agreement(mode))
        for rate in rates:
            for size in SIZES:
                for turn in range(repeat):
                    name = _name(mode, rate, size, turn)
                    tokens = int(min(2000, max(64, 2 * rate)))
                    pace = {"rate_tok_s": rate, "tokens_per_event": size, "ttft_s": TTFT_S, "seed": turn + 1}
                    replies[name] = await client.stream(request(name, tokens, **pace))
    return replies


def report(replies: dict[str, Reply], known: dict[str, dict[str, float]], rates: list[float], repeat: int) -> None:
    print(f"{len(replies)} streams, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    columns = ("tokens/s", "tokens an event", "counted: error, median / worst", "seed form: median / worst",
               "not counted: median / worst", "truth in the interval", "TTFT: median / worst", "said so")  # fmt: skip
    print(head(*columns))
    for rate in rates:
        for size in SIZES:
            print(_line(replies, known, rate, size, repeat))


def _line(
    replies: dict[str, Reply], known: dict[str, dict[str, float]], rate: float, size: tuple[int, int], repeat: int
) -> str:
    counted = [_name(UsageMode.PER_EVENT, rate, size, turn) for turn in range(repeat)]
    guessed = [_name(UsageMode.AT_END, rate, size, turn) for turn in range(repeat)]
    real = {name: _real_rate(known[name]) for name in (*counted, *guessed)}
    exact = [_error(replies[name].record.decode_tok_s, real[name]) for name in counted]
    seed = [_error(replies[name].decode.seed, real[name]) for name in counted]
    estimate = [_error(replies[name].record.decode_tok_s, real[name]) for name in guessed]
    covered = sum(_covers(replies[name], real[name]) for name in guessed)
    first = [_ttft_error_s(replies[name], known[name]) * 1e3 for name in (*counted, *guessed)]
    marked = sum("client-late" in str(replies[name].record.anomalies) for name in (*counted, *guessed))
    return row(
        f"{rate:g}", f"{size[0]}" if size[0] == size[1] else f"{size[0]} to {size[1]}", _both(exact), _both(seed),
        _both(estimate), f"{covered} of {len(guessed)}", f"{statistics.median(first):.2f} / {max(first):.2f} ms",
        f"{marked} of {len(first)}",
    )  # fmt: skip


def _name(mode: UsageMode, rate: float, size: tuple[int, int], turn: int) -> str:
    return f"{mode}/{rate}/{size}/{turn}"


def _real_rate(truth: dict[str, float]) -> float:
    return (truth["tokens"] - truth["first_event_tokens"]) / (truth["last_at"] - truth["first_at"])


def _error(value: float | None, truth: float) -> float:
    return float("nan") if value is None else value / truth - 1


def _both(errors: list[float]) -> str:
    return f"{statistics.median(errors):+.2%} / {max(errors, key=abs):+.2%}"


def _covers(reply: Reply, truth: float) -> bool:
    """Whether the interval holds the truth, with 0.5 % for the clock as for counted figures."""
    interval = reply.decode.interval
    return interval is not None and interval[0] * 0.995 <= truth <= interval[1] * 1.005


def _ttft_error_s(reply: Reply, truth: dict[str, float]) -> float:
    assert reply.exchange.sent_at is not None
    assert reply.record.ttft_s is not None
    return reply.exchange.sent_at + reply.record.ttft_s - truth["first_at"]


if __name__ == "__main__":
    main()
