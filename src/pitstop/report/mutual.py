"""The mutual-load ruler's figures, a row per model and number of streams: alone, beside the others, what is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pitstop.core.documents import Figure, Status
from pitstop.report.numbers import number, percent, quantity
from pitstop.report.table import Cell, Column, Table, Tone

RULER = "mutual-load"
_CONDITIONS = ("alone", "shared")
_COLUMNS = (
    Column("model and streams"),
    Column("alone, tok/s", "right"),
    Column("beside others, tok/s", "right"),
    Column("kept", "right"),
    Column("first token alone", "right"),
    Column("beside others", "right"),
)
_Known = Mapping[tuple[str, str], Figure]  # by case and metric


def mutual_table(figures: Iterable[Figure]) -> Table:
    """Models in the order in which they were measured; the sum of all in its own row."""
    told = {(figure.case, figure.metric): figure for figure in figures if figure.ruler == RULER}
    bases = dict.fromkeys(_base(case) for case, _ in told)
    return Table("mutual load", _COLUMNS, tuple(_row(base, told) for base in bases))


def _base(case: str) -> str:
    head, _, last = case.rpartition("/")
    return head if last in _CONDITIONS else case


def _row(base: str, told: _Known) -> tuple[Cell, ...]:
    together = _value(told, base, "throughput_tok_s")  # the row of the sum has no condition
    alone, shared = (_value(told, f"{base}/{condition}", "throughput_tok_s") for condition in _CONDITIONS)
    waits = [quantity(_value(told, f"{base}/{condition}", "ttft_s"), "s") for condition in _CONDITIONS]
    return (
        Cell(base, Tone.STRONG),
        Cell(number(alone)),
        Cell(number(shared if together is None else together)),
        Cell(percent(_value(told, base, "retention")), _tone(told.get((base, "retention")))),
        *map(Cell, waits),
    )


def _tone(retention: Figure | None) -> Tone:
    return Tone.WARN if retention is not None and retention.status is Status.UNVERIFIED else Tone.STRONG


def _value(told: _Known, case: str, metric: str) -> float | None:
    figure = told.get((case, metric))
    return None if figure is None or figure.status is Status.INVALID else figure.value
