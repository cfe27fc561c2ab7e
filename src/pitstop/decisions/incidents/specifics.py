"""Numbers inside a message that make its advice concrete: how much was missing, how much was wanted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pitstop.decisions.incidents.events import Event

_ADMISSION = re.compile(
    r"\((?P<free>[\d.]+)/(?P<total>[\d.]+) (?P<unit>[KMGT]?i?B)\).{0,80}less than desired[^(]{0,80}"
    r"\((?P<share>[\d.]+), (?P<wanted>[\d.]+) (?P<wanted_unit>[KMGT]?i?B)\)",
)
_WANTED = re.compile(r"(?:Tried to allocate|allocating) (?P<size>[\d.]+ [KMGT]i?B)")
_ORPHAN_SHARE = 0.25  # of the whole memory missing: that is no page cache, that is another engine


@dataclass(frozen=True)
class Specifics:
    """`summary` goes behind the signature's own, `advice` in front of it."""

    summary: str = ""
    advice: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


def specifics(event: Event) -> Specifics:
    """What the message of a root says in numbers."""
    signature = event.signature.id if event.signature else ""
    if signature == "oom-admission" and (match := _ADMISSION.search(event.message)):
        return _admission(match)
    if signature == "oom-runtime" and (match := _WANTED.search(event.message)):
        return Specifics(f"{match['size']} could not be had", "", {"tried_to_allocate": match["size"]})
    return Specifics()


def admission_shortfall(text: str) -> str:
    """How much an engine's own start check found missing, if it was that which refused; "" otherwise."""
    match = _ADMISSION.search(text)
    return _admission(match).summary if match else ""


def _admission(match: re.Match[str]) -> Specifics:
    free, total, wanted = float(match["free"]), float(match["total"]), float(match["wanted"])
    unit, short = match["unit"], float(match["wanted"]) - float(match["free"])
    if unit != match["wanted_unit"]:
        return Specifics()
    detail = {
        "free": free, "total": total, "wanted": wanted, "short": round(short, 2), "unit": unit,
        "utilization": float(match["share"]),
    }  # fmt: skip
    advice = ""
    if short > _ORPHAN_SHARE * total:
        advice = (
            "So much is missing that another engine must hold it, perhaps an orphan (VLLM::EngineCore in nvidia-smi): "
            "end that one instead of lowering the utilization. "
        )
    return Specifics(
        f"short by {short:.2f} {unit} ({free:g} of {total:g} {unit} were free, {wanted:g} were wanted)", advice, detail
    )
