"""What is left of each model beside the others: retention, the sum, and the sentence that they support. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pitstop.core.documents import Figure, Notice
from pitstop.rulers.batch import Batch
from pitstop.rulers.figures import Measured
from pitstop.rulers.integrity import doubts_of_replies
from pitstop.stats.summary import median

# Who shares a memory bus gets no faster by it. What clocks that rise under load, and the noise of short answers, can
# bring stays within a tenth; beyond it the box was not the same in both conditions.
MOST_PLAUSIBLE = 1.1


@dataclass
class Taken:
    """One model's batches at one number of streams, a pair a run: alone, then beside the others under load."""

    alone: list[Batch] = field(default_factory=list)
    shared: list[Batch] = field(default_factory=list)
    load_errors: list[str] = field(default_factory=list)  # of the others' requests meanwhile
    load_requests: int = 0

    @property
    def rates(self) -> tuple[float | None, float | None]:
        """Tokens a second alone and beside the others, the medians of the whole batches; None without one."""
        return _rate(self.alone), _rate(self.shared)

    @property
    def by_run(self) -> list[float]:
        """Shared over alone of each run in which both are known."""
        pairs = zip(self.alone, self.shared, strict=True)
        return [
            beside.throughput_tok_s / before.throughput_tok_s
            for before, beside in pairs
            if before.throughput_tok_s and beside.throughput_tok_s
        ]

    @property
    def load_doubts(self) -> tuple[str, ...]:
        """What makes the measurement beside the others one beside fewer of them."""
        if not self.load_errors:
            return ()
        told = f"{len(self.load_errors)} of the others' {self.load_requests} requests failed: {self.load_errors[0]}"
        return (f"{told}; the load was less than it says",)


def retention(measured: Measured, taken: Taken) -> Figure:
    """Throughput shared over throughput alone, of their medians; each run's own ratio is in the detail."""
    before, beside = taken.rates
    kept = [beside / before] if before and beside else []
    records = [reply.record for batch in (*taken.alone, *taken.shared) for reply in batch.replies]
    return measured.figure(
        "retention",
        kept,
        doubts=(*doubts_of_replies(records), *_failed(taken), *taken.load_doubts, *_implausible(kept, taken.by_run)),
        detail={"by_run": taken.by_run},
        missing="there is no throughput both alone and beside the others",
    )


def total(measured: Measured, rates: Mapping[str, tuple[float | None, float | None]]) -> Figure:
    """The sum of the models' rates beside each other; unavailable unless every one is known."""
    beside = [shared for before, shared in rates.values() if before and shared]
    if len(beside) < len(rates):
        return measured.unavailable("throughput_tok_s", "not every model could be measured")
    return measured.figure("throughput_tok_s", [sum(beside)])


def notice(streams: int, rates: Mapping[str, tuple[float | None, float | None]]) -> Notice:
    return Notice(code="mutual-load", text=sentence(streams, rates))


def sentence(streams: int, rates: Mapping[str, tuple[float | None, float | None]]) -> str:
    """What the figures support: whether several models on one box bring throughput, or flexibility only."""
    together = sum(beside or 0.0 for _, beside in rates.values())
    best, most = max(((name, alone or 0.0) for name, (alone, _) in rates.items()), key=lambda pair: pair[1])
    numbers = f"together {together:.1f} tok/s at {streams} streams each, {best} alone {most:.1f}"
    if together <= most:
        return f"{len(rates)} models on this box bring flexibility, not throughput: {numbers}"
    gain = f"{together / most - 1:.0%}" if most else "some"
    return f"{len(rates)} models on this box bring {gain} more throughput than the fastest alone: {numbers}"


def _rate(batches: list[Batch]) -> float | None:
    return median([batch.throughput_tok_s for batch in batches if batch.throughput_tok_s is not None])


def _failed(taken: Taken) -> tuple[str, ...]:
    broken = sum(not batch.whole for batch in (*taken.alone, *taken.shared))
    batches = len(taken.alone) + len(taken.shared)
    return (f"{broken} of {batches} batches had a request that failed, and are left out",) if broken else ()


def _implausible(kept: list[float], by_run: list[float]) -> tuple[str, ...]:
    if not kept or kept[0] <= MOST_PLAUSIBLE:
        return ()
    runs = ", ".join(f"{ratio:.2f}" for ratio in by_run)
    told = f"faster beside the others than alone ({kept[0]:.2f}; by run {runs})"
    return (f"{told}: something slowed it down while it was alone, so measure again, with more runs",)
