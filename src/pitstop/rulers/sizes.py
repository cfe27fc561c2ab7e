"""How long a text must be to come to a given number of tokens, by the counts that the server itself gave.

Lengths are in pieces (`pieces.py`), of which one is about one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TOLERANCE = 0.02  # design: sizes calibrated to within 2 %
# A word is up to four tokens, and some tokenizers group the nonce's digits differently from request to request.
TOLERANCE_TOK = 4
PROBE_PIECES = 1500  # long enough to tell how many tokens a piece is to about 1 %, and cheap beside 8,000 tokens
_USUAL_TOK_PER_PIECE = 1.0
_LEAST_PROBE_PIECES = 8  # the run's hello has three
_LONG_ENOUGH_PIECES = 250  # in a shorter prompt the template's own tokens would spoil the ratio
_TRUNCATED = 0.8  # natural text does not change its tokens per piece by a fifth from one page to the next


@dataclass(frozen=True)
class Point:
    """One request's text length, and the prompt tokens that the server counted for all of it (template included)."""

    pieces: int
    tokens: int


def within(tokens: int, target_tok: int) -> bool:
    """Whether a prompt of `tokens` may stand for one of `target_tok`: 2 %, or four tokens of a short one."""
    return abs(tokens - target_tok) <= max(TOLERANCE * target_tok, TOLERANCE_TOK)


def next_pieces(points: Sequence[Point], target_tok: int) -> int:
    """The text length to try next: a probe first, then from the nearest point on at so many tokens a piece."""
    template = _template_tok(points)
    probes = [point for point in points if point.pieces >= _LEAST_PROBE_PIECES]
    if not probes:
        wanted = round((target_tok - template) / _USUAL_TOK_PER_PIECE)
        return max(_LEAST_PROBE_PIECES, min(wanted, PROBE_PIECES))
    near = min(probes, key=lambda point: abs(point.tokens - target_tok))
    below = max((p for p in probes if p.tokens <= target_tok), key=lambda point: point.tokens, default=near)
    above = min((p for p in probes if p.tokens >= target_tok), key=lambda point: point.tokens, default=near)
    if above.pieces - below.pieces > 1:
        return _between(below, above, target_tok)
    return max(0, near.pieces + round((target_tok - near.tokens) / _tok_per_piece(near, template)))


def _between(below: Point, above: Point, target_tok: int) -> int:
    """On the line through two points, and never on one of them: some passages split into twice the tokens."""
    share = (target_tok - below.tokens) / (above.tokens - below.tokens) if above.tokens > below.tokens else 0.5
    wanted = below.pieces + round(share * (above.pieces - below.pieces))
    return min(max(wanted, below.pieces + 1), above.pieces - 1)


def truncated(points: Sequence[Point], latest: Point) -> bool:
    """Whether the server cut the latest prompt: it counted far less for the longer text than shorter ones predict."""
    shorter = [p for p in points if _LONG_ENOUGH_PIECES <= p.pieces < latest.pieces and p.tokens > 0]
    if not shorter:
        return False
    base = max(shorter, key=lambda point: point.pieces)
    tok_per_piece = _tok_per_piece(base, _template_tok(points))
    return latest.tokens < _TRUNCATED * (base.tokens + (latest.pieces - base.pieces) * tok_per_piece)


def _template_tok(points: Sequence[Point]) -> int:
    """What the chat template and the nonce take, seen by a prompt of almost no text; 0 when there was none."""
    bare = [point for point in points if point.pieces < _LEAST_PROBE_PIECES]
    return max(0, min(point.tokens - point.pieces for point in bare)) if bare else 0


def _tok_per_piece(point: Point, template_tok: int) -> float:
    """Of one prompt, without its template. The usual one where its counts make no sense."""
    return (point.tokens - template_tok) / point.pieces if point.tokens > template_tok else _USUAL_TOK_PER_PIECE
