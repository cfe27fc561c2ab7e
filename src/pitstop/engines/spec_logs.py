"""Acceptance from vLLM's log, for a server whose metrics cannot be read. Counters are better: a log has intervals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pitstop.engines.adapter import Counters


@dataclass(frozen=True)
class SpeculationLine:
    """One line. V1 speaks of the last interval, V0 of everything since the start."""

    accepted_tokens: int
    draft_tokens: int
    cumulative: bool
    mean_length: float | None = None
    per_position: tuple[float, ...] | None = None


def parse_speculation(line: str) -> SpeculationLine | None:
    """Read `SpecDecoding metrics: …` (V1) or `Speculative metrics: …` (V0); None for any other line."""
    if "cceptance" not in line:
        return None
    return _interval(line) or _cumulative(line)


def speculation(lines: Iterable[str]) -> Counters:
    """Accepted and drafted tokens over a log: intervals added up, of cumulative lines the last one."""
    seen = [found for line in lines if (found := parse_speculation(line))]
    if not seen:
        return Counters()
    last = seen[-1]
    added = [last] if last.cumulative else [line for line in seen if not line.cumulative]
    return Counters(
        accepted_tokens=sum(line.accepted_tokens for line in added),
        draft_tokens=sum(line.draft_tokens for line in added),
    )


_V1_COUNTS = re.compile(r"Accepted: (\d{1,18}) tokens, Drafted: (\d{1,18}) tokens")
_V1_LENGTH = re.compile(r"Mean acceptance length: (\d{1,9}(?:\.\d{1,9})?)")
_V1_POSITIONS = re.compile(r"Per-position acceptance rate: (\d\.\d+(?:, \d\.\d+){0,999})")
_V0_ACCEPTED = re.compile(r"accepted(?: tokens)?:? (\d{1,18})")
_V0_DRAFTED = re.compile(r"(?:of )?draft(?: tokens)?:? (\d{1,18})")


def _interval(line: str) -> SpeculationLine | None:
    counts = _V1_COUNTS.search(line)
    if counts is None:
        return None
    length, positions = _V1_LENGTH.search(line), _V1_POSITIONS.search(line)
    return SpeculationLine(
        accepted_tokens=int(counts[1]),
        draft_tokens=int(counts[2]),
        cumulative=False,
        mean_length=float(length[1]) if length else None,
        per_position=tuple(float(rate) for rate in positions[1].split(", ")) if positions else None,
    )


def _cumulative(line: str) -> SpeculationLine | None:
    accepted, drafted = _V0_ACCEPTED.search(line), _V0_DRAFTED.search(line)
    if "System efficiency" not in line or accepted is None or drafted is None:
        return None
    return SpeculationLine(int(accepted[1]), int(drafted[1]), cumulative=True)
