"""Every sample of every figure, one per row: what a reader needs to do the sums again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from pitstop.core.documents import Figure, RunDocument
from pitstop.report.table import Cell, Column, Table, csv_text

Runs = Iterable[tuple[str, RunDocument]]  # the arm's name (empty for a run on its own) and the run

_COLUMNS = ("arm", "run", "ruler", "case", "metric", "unit", "sample", "value", "status", "reason", "source")


class Sample(msgspec.Struct, frozen=True):
    """One sample with the figure that it belongs to; `index` counts from 1."""

    arm: str
    run: str
    figure: Figure
    index: int
    value: float | None


def samples(runs: Runs) -> Iterator[Sample]:
    """All samples in order; a figure without samples gives one row with its value, so that none is left out."""
    for arm, run in runs:
        for figure in run.figures:
            values: tuple[float | None, ...] = figure.samples or (figure.value,)
            for index, value in enumerate(values, 1):
                yield Sample(arm, run.id, figure, index, value)


def samples_csv(runs: Runs) -> str:
    """One row per sample, full precision, header first."""
    return csv_text([list(_COLUMNS), *(_row(sample) for sample in samples(runs))])


def samples_table(runs: Runs) -> Table:
    """The same for people: one row per figure, six digits."""
    columns = (Column("arm"), Column("run"), Column("ruler"), Column("case"), Column("metric"), Column("samples"))
    rows = tuple(
        tuple(Cell(text) for text in (arm, run.id, f.ruler, f.case, f"{f.metric}, {f.unit}", _listed(f)))
        for arm, run in runs
        for f in run.figures
        if f.samples
    )
    return Table("every sample", columns, rows)


def _listed(figure: Figure) -> str:
    return ", ".join(f"{sample:.6g}" for sample in figure.samples)


def _row(sample: Sample) -> list[str]:
    figure = sample.figure
    value = "" if sample.value is None else repr(sample.value)
    names = [sample.arm, sample.run, figure.ruler, figure.case, figure.metric, figure.unit]
    return [*names, str(sample.index), value, figure.status.value, figure.reason, figure.source]
