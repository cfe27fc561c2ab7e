"""Does it fit: what each engine takes at its start and when it serves, the sum, and what is left above the floor.

Every part is known from somewhere (the configuration, the checkpoint, a start-up log, a boot of this very box) or is
None; a plan says which, and says no with numbers. `--gpu-memory-utilization` is a budget that the server gives itself,
not a cap: CUDA's context and graphs, MTP heads and the process on the CPU side come on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

GIB = 2**30
# The second report's box, both models idle: processes held 89.7 GiB on the GPU where the fractions said 88.8, so 0.45
# each; and 121.7 - 17.1 available - 89.7 leaves 14.9 GiB for two processes and the system. Its split is our guess.
CONTEXT_BYTES = int(0.45 * GIB)
HOST_BYTES = int(5.45 * GIB)
SYSTEM_BYTES = 4 * GIB


@dataclass(frozen=True)
class Footprint:
    """One engine's memory in bytes. None is not known. `sources` says where each known part is from."""

    engine: str
    fraction: float | None = None  # of the device, as the server is told
    budget_bytes: int | None = None  # what the server gives itself: weights, activations and KV together
    weights_bytes: int | None = None
    kv_bytes: int | None = None
    context_bytes: int = CONTEXT_BYTES  # CUDA context and compiled graphs
    draft_bytes: int | None = 0  # MTP heads and the like that the budget does not cover; None: there, of unknown size
    host_bytes: int = HOST_BYTES  # the process on the CPU side
    start_extra_bytes: int | None = None  # compilation and profiling, above the steady state, while it starts
    checkpoint_bytes: int | None = None  # read through the page cache while it loads
    learnt_steady_bytes: int | None = None  # what boots of this box really took
    learnt_start_bytes: int | None = None
    admission_bytes: int | None = None  # what must be free when it starts, where the fraction is only a test
    sources: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def steady_bytes(self) -> int | None:
        """While it serves; what was learnt counts before what was calculated."""
        if self.learnt_steady_bytes is None and self.draft_bytes is None:
            return None
        return self.least_bytes

    @property
    def least_bytes(self) -> int | None:
        """The steady state without what is not known of it."""
        if self.learnt_steady_bytes is not None:
            return self.learnt_steady_bytes
        inside = self.budget_bytes
        if inside is None and self.weights_bytes is not None and self.kv_bytes is not None:
            inside = self.weights_bytes + self.kv_bytes
        return None if inside is None else inside + self.context_bytes + (self.draft_bytes or 0) + self.host_bytes

    @property
    def start_bytes(self) -> int | None:
        """At the peak of its start, as far as that is known: never less than the steady state."""
        steady = self.steady_bytes
        if steady is None:
            return None
        return max(steady, self.learnt_start_bytes or 0, steady + (self.start_extra_bytes or 0))

    @property
    def start_is_known(self) -> bool:
        return self.start_extra_bytes is not None or self.learnt_start_bytes is not None


@dataclass(frozen=True)
class Plan:
    """The sum over all engines. `fits` is None when too little is known; `reasons` are sentences with numbers."""

    total_bytes: int
    system_bytes: int
    floor_bytes: int
    engines: tuple[Footprint, ...]
    steady_bytes: int | None
    start_bytes: int | None  # the highest of the peaks when they start one after the other
    together_bytes: int | None  # when all start at once
    available_bytes: int | None  # with everything up
    available_at_start_bytes: int | None
    fits: bool | None
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def margin_bytes(self) -> int | None:
        """What is left above the guard's floor; negative when the guard would kill."""
        return None if self.available_bytes is None else self.available_bytes - self.floor_bytes


def plan(
    engines: Sequence[Footprint],
    *,
    total_bytes: int,
    floor_bytes: int,
    system_bytes: int = SYSTEM_BYTES,
    free_bytes: int | None = None,
) -> Plan:
    """Add up and judge. `free_bytes` is MemFree now, which vLLM's own start check goes by."""
    steadies = [one.steady_bytes for one in engines]
    unknown = [one.engine for one, steady in zip(engines, steadies, strict=True) if steady is None]
    steady = None if unknown else sum(value for value in steadies if value is not None)
    start, together = _peaks(engines, steady)
    rest = total_bytes - system_bytes
    available = None if steady is None else rest - steady
    at_start = None if start is None else rest - start
    least = rest - sum(one.least_bytes or 0 for one in engines)
    reasons = list(_reasons(engines, total_bytes, system_bytes, floor_bytes, least, at_start))
    return Plan(
        total_bytes=total_bytes,
        system_bytes=system_bytes,
        floor_bytes=floor_bytes,
        engines=tuple(engines),
        steady_bytes=steady,
        start_bytes=start,
        together_bytes=together,
        available_bytes=available,
        available_at_start_bytes=at_start,
        fits=False if reasons else None if unknown else True,
        reasons=tuple(reasons) or tuple(f"too little is known of {name}" for name in unknown),
        warnings=tuple(_warnings(engines, together, rest - floor_bytes, free_bytes)),
    )


def _peaks(engines: Sequence[Footprint], steady: int | None) -> tuple[int | None, int | None]:
    """The highest peak one after the other, and all at once."""
    if steady is None:
        return None, None
    extras = [(one.start_bytes or 0) - (one.steady_bytes or 0) for one in engines]
    return steady + max(extras, default=0), steady + sum(extras)


def _reasons(
    engines: Sequence[Footprint], total: int, system: int, floor: int, most_left: int, at_start: int | None
) -> list[str]:
    """Why it does not fit; empty when nothing speaks against it."""
    found = []
    budgets = [one.budget_bytes for one in engines if one.budget_bytes is not None]
    if sum(budgets) + system > total:
        parts = " + ".join(gib(budget) for budget in budgets)
        found.append(
            f"the budgets alone are more than there is: {parts} = {gib(sum(budgets))}, and {gib(system)} for the "
            f"system, of {gib(total)}"
        )
    if most_left < floor:
        found.append(
            f"with everything up {gib(most_left)} would be available, {gib(floor - most_left)} below the guard's floor "
            f"of {gib(floor)}: it would kill"
        )
    elif at_start is not None and at_start < floor:
        found.append(
            f"while it starts only {gib(at_start)} would be available, {gib(floor - at_start)} below the guard's floor "
            f"of {gib(floor)}: it would be killed before it serves"
        )
    return found


def _warnings(engines: Sequence[Footprint], together: int | None, room: int, free: int | None) -> list[str]:
    found = [f"{one.engine}: {note}" for one in engines for note in one.notes]
    vague = [one.engine for one in engines if not one.start_is_known]
    if vague:
        found.append(
            f"the peak of the start of {', '.join(vague)} is not known: compiling and profiling took up to 30 GB more "
            "than the steady state elsewhere. Start it under the guard; the next plan knows."
        )
    if together is not None and len(engines) > 1 and together > room:
        found.append(
            f"start them one after the other: at once they would take {gib(together)}, and {gib(room)} are there"
        )
    for one in engines:
        needed = one.admission_bytes or one.budget_bytes
        if free is not None and needed is not None and free < needed:
            found.append(
                f"{one.engine}: its own start check wants {gib(needed)} free, and MemFree is {gib(free)} now; what the "
                "page cache holds counts as taken there"
            )
    return found


def gib(size_bytes: float) -> str:
    return f"{size_bytes / GIB:.1f} GiB"
