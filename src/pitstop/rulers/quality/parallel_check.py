"""Asking several at once must change the time and not the answers: tried on this server, with greedy answers."""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.client.chat import Reply
from pitstop.core.documents import Notice
from pitstop.rulers.asking import Asker, Wish
from pitstop.rulers.quality.conversation import Manner
from pitstop.rulers.quality.task import Instance, Level

_TOKENS = 128  # rounding shows late, if it does
_PROMPTS = 8


async def check_parallel(asker: Asker, instances: Sequence[Instance], manner: Manner) -> None:
    """The same prompts at temperature 0, as many at once as the run asks, then one by one; a notice tells what came."""
    streams = asker.bench.settings.quality.parallel
    hardest_first = sorted(instances, key=lambda one: one.level is Level.EASY)
    wishes = [
        Wish(one.prompt, _TOKENS, manner.thinking, temperature=0.0, bare=True)
        for one in hardest_first[: max(_PROMPTS, min(streams, 2 * _PROMPTS))]
    ]
    at_once: list[Reply] = []
    for begin in range(0, len(wishes), streams):
        at_once += await asker.ask_at_once("parallel-check", wishes[begin : begin + streams])
    alone = [await asker.ask("parallel-check", wish) for wish in wishes]
    compared = [(one, other) for one, other in zip(at_once, alone, strict=True) if one.ok and other.ok]
    differing = sum((one.reasoning, one.answer) != (other.reasoning, other.answer) for one, other in compared)
    asker.result.warnings.append(Notice(code="quality-parallel", text=words(streams, len(compared), differing)))


def words(streams: int, compared: int, differing: int) -> str:
    """What the check found, in a sentence."""
    if not compared:
        return f"whether {streams} requests at once change the answers could not be checked: the requests failed"
    if not differing:
        return f"{compared} greedy answers were the same at once and one by one: asking in parallel changed none"
    return (
        f"{differing} of {compared} greedy answers differed when they were asked at once: this server rounds "
        "otherwise in "
        "a batch. That is noise, not worse, as long as both arms are asked with the same --parallel"
    )
