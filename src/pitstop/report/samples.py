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
    """The same for people, without the columns that the tables above already show."""
    shown = [name for name in _COLUMNS if name not in ("reason", "source")]
    columns = tuple(Column(name, "right" if name in ("sample", "value") else "left") for name in shown)
    rows = (_row(sample)[: len(shown)] for sample in samples(runs))
    return Table("every sample", columns, tuple(tuple(Cell(text) for text in row) for row in rows))


def _row(sample: Sample) -> list[str]:
    figure = sample.figure
    value = "" if sample.value is None else repr(sample.value)
    names = [sample.arm, sample.run, figure.ruler, figure.case, figure.metric, figure.unit]
    return [*names, str(sample.index), value, figure.status.value, figure.reason, figure.source]
