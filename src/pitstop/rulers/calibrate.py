"""Prompts of a wanted number of tokens, calibrated by the server's own count to within 2 %, with few requests.

The request that meets the size is a full prefill of that size, so it is the warm-up too; nothing is computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.rulers.asking import Asker, Wish
from pitstop.rulers.pieces import pieces
from pitstop.rulers.sizes import TOLERANCE, Point, next_pieces, truncated, within
from pitstop.rulers.text import NaturalText

MOST_REQUESTS = 5  # three are enough for any tokenizer whose density drifts by 2 % over the text


@dataclass(frozen=True)
class Calibrated:
    """The text that comes to the wanted size, and what the server counted for it."""

    text: str
    prompt_tokens: int
    requests: int


@dataclass(frozen=True)
class Unfit:
    """Why there is no prompt of that size here, with the numbers and what to do."""

    reason: str


async def calibrate(
    asker: Asker, text: NaturalText, target_tok: int, *, case: str, reserve_tok: int = 1, instruction: str = ""
) -> Calibrated | Unfit:
    """The beginning of `text` that makes a prompt of `target_tok` tokens, template, nonce and `instruction` included.

    `reserve_tok` is what the reply will need of the context.
    """
    unfit = _does_not_fit(asker, target_tok, reserve_tok)
    if unfit:
        return unfit
    points = asker.bench.learnt.sizes
    for tried in range(1, MOST_REQUESTS + 1):
        part = text.head(next_pieces(points, target_tok) - pieces(instruction))
        reply = await asker.ask(f"{case} (warm-up)", Wish(framed(part, instruction), max_tokens=1))
        counted = reply.record.prompt_tokens
        if not reply.ok or counted is None:
            return _refused(target_tok, reply.record.error)
        latest = Point(pieces(framed(part, instruction)), counted)
        unfit = None if within(counted, target_tok) else _hopeless(points, latest, text, part, target_tok)
        if unfit:
            return unfit
        points.append(latest)
        if within(counted, target_tok):
            return Calibrated(part, counted, tried)
    return Unfit(f"{MOST_REQUESTS} requests did not come within {TOLERANCE:.0%} of {target_tok} tokens")


def framed(part: str, instruction: str) -> str:
    """The text with its instruction behind it, where a model looks for it."""
    return f"{part}\n\n{instruction}" if instruction else part


def _does_not_fit(asker: Asker, target_tok: int, reserve_tok: int) -> Unfit | None:
    context = asker.bench.capabilities.context_tok
    if context is None or target_tok + reserve_tok <= context:
        return None
    return Unfit(
        f"the context holds {context} tokens, {target_tok} for the prompt and {reserve_tok} for the reply are needed: "
        f"start the engine with a longer context, or ask for a smaller size"
    )


def _refused(target_tok: int, error: str) -> Unfit:
    if not error:
        return Unfit("the server sent no usage, so the size of a prompt is not known")
    return Unfit(f"a prompt of about {target_tok} tokens failed: {error}")


def _hopeless(points: list[Point], latest: Point, text: NaturalText, part: str, target_tok: int) -> Unfit | None:
    if truncated(points, latest):
        return Unfit(
            f"the server counted {latest.tokens} tokens for a prompt of about {target_tok}: it cuts long prompts; "
            "start it with a longer context"
        )
    if len(part) >= len(text.text) and latest.tokens < target_tok:
        return Unfit(
            f"{text.name} comes to {latest.tokens} tokens, {target_tok} are needed: give a longer text with --text"
        )
    if not part and latest.tokens > target_tok:
        return Unfit(f"the chat template and the nonce alone take {latest.tokens} tokens, more than {target_tok}")
    return None
