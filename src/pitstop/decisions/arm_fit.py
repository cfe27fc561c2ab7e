"""Does a variant fit where production runs now? Judged by the difference between the two, not by either sum.

What a plan calculates for an engine may be off by gigabytes, and is off by the same for another setting of that engine.
So only what the variant takes beyond production is held against what is really available now.
"""

from __future__ import annotations

from dataclasses import replace

from pitstop.decisions.plan import Footprint, gib


def does_not_fit(production: Footprint, arm: Footprint, available_bytes: int, floor_bytes: int) -> str:
    """Why the guard would have to stop the arm, with the numbers; "" when it fits, or when too little is known.

    `available_bytes` is measured while production serves. Boots of this box count only where both have them.
    """
    if production.learnt_steady_bytes is None or arm.learnt_steady_bytes is None:
        production, arm = _calculated(production), _calculated(arm)
    held, wanted = production.steady_bytes, arm.start_bytes
    if held is None or wanted is None or wanted <= held:
        return ""
    left = available_bytes - (wanted - held)
    if left >= floor_bytes:
        return ""
    return (
        f"it takes {gib(wanted)} where production takes {gib(held)}: of the {gib(available_bytes)} that are available "
        f"now {gib(left)} would be left, below the guard's floor of {gib(floor_bytes)}"
    )


def _calculated(footprint: Footprint) -> Footprint:
    return replace(footprint, learnt_steady_bytes=None, learnt_start_bytes=None)
