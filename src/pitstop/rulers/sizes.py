"""How long a text must be to come to a given number of tokens, by the counts that the server itself gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TOLERANCE = 0.02  # design: sizes calibrated to within 2 %
FIRST_PROBE_CHARS = 2000
_SHORTEST_PROBE_CHARS = 200
_USUAL_CHARS_PER_TOK = 4.0
_LONG_ENOUGH_CHARS = 1000  # in a shorter prompt the template's own tokens would spoil the ratio
_TRUNCATED = 0.8  # natural text does not change its tokens per character by a fifth from one page to the next


@dataclass(frozen=True)
class Point:
    """One request's text length, and the prompt tokens that the server counted for all of it (template included)."""

    chars: int
    tokens: int


def within(tokens: int, target_tok: int) -> bool:
    """Whether a prompt of `tokens` may stand for one of `target_tok`."""
    return abs(tokens - target_tok) <= TOLERANCE * target_tok


def next_chars(points: Sequence[Point], target_tok: int) -> int:
    """The text length to try next: a short probe first, then along the line through the two nearest points.

    A point of almost no text (the run's hello) shows what the template takes, and is no probe.
    """
    if all(point.chars < _SHORTEST_PROBE_CHARS for point in points):
        return max(_SHORTEST_PROBE_CHARS, min(FIRST_PROBE_CHARS, round(_USUAL_CHARS_PER_TOK * target_tok)))
    near = sorted(points, key=lambda point: abs(point.tokens - target_tok))
    return max(0, round(near[0].chars + (target_tok - near[0].tokens) * _chars_per_tok(near)))


def truncated(points: Sequence[Point], latest: Point) -> bool:
    """Whether the server cut the latest prompt: it counted far less for the longer text than shorter ones predict."""
    shorter = [p for p in points if _LONG_ENOUGH_CHARS <= p.chars < latest.chars and p.tokens > 0]
    if not shorter:
        return False
    base = max(shorter, key=lambda point: point.chars)
    expected = base.tokens + (latest.chars - base.chars) / _chars_per_tok(shorter)
    return latest.tokens < _TRUNCATED * expected


def _chars_per_tok(near: Sequence[Point]) -> float:
    """The slope of the nearest pair that has one, or the plain ratio: the template's own tokens are few."""
    first = near[0]
    for other in near[1:]:
        chars, tokens = first.chars - other.chars, first.tokens - other.tokens
        if tokens and chars / tokens > 0:
            return chars / tokens
    return first.chars / first.tokens if first.chars and first.tokens > 0 else _USUAL_CHARS_PER_TOK
