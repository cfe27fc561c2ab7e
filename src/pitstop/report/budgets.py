"""The thinking ruler's figures as one row per budget, and as a trade of time against finished answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pitstop.core.documents import Figure, Status
from pitstop.report.numbers import UNKNOWN, percent, seconds
from pitstop.report.plots.frontier import Trade
from pitstop.report.table import Cell, Column, Table, Tone

RULER = "thinking"
_BUDGET = re.compile(r"no-budget|budget(\d{1,9})")
_SHARES = ("finished_share", "cut_off_share", "empty_share", "wrong_language_share")
_TITLES = ("finished", "cut off", "empty", "wrong language")


def is_of_a_budget(figure: Figure) -> bool:
    """Whether a figure belongs into the table of budgets."""
    return figure.ruler == RULER and bool(_BUDGET.fullmatch(figure.case))


def budget_table(figures: Iterable[Figure]) -> Table:
    """Finished, cut off, empty, wrong language, median time and tokens per budget, the recommended one marked."""
    told = list(figures)
    chosen, columns = recommended(told), [Column("budget"), *(Column(title, "right") for title in _TITLES)]
    columns += [Column("median time", "right"), Column("tokens", "right"), Column("")]
    rows = tuple(_row(case, by_metric, chosen) for case, by_metric in _by_case(told).items())
    return Table("thinking budgets", tuple(columns), rows)


def trades(figures: Iterable[Figure]) -> list[Trade]:
    """Every budget of which time and share of finished answers are known."""
    told = list(figures)
    chosen = recommended(told)
    found = []
    for case, by_metric in _by_case(told).items():
        time_s, finished = (_value(by_metric, metric) for metric in ("e2e_s", "finished_share"))
        if time_s is not None and finished is not None:
            found.append(Trade(_name(case), time_s, finished, chosen=case == chosen))
    return found


def recommended(figures: Iterable[Figure]) -> str:
    """The case that the ruler recommends; empty when it does not."""
    advice = next((f for f in figures if (f.ruler, f.metric) == (RULER, "recommended_budget_tok")), None)
    if advice is None:
        return ""
    if advice.detail.get("send_a_budget") is False:
        return "no-budget"
    return f"budget{advice.value:.0f}" if advice.value is not None and advice.status is Status.OK else ""


def _by_case(figures: Sequence[Figure]) -> dict[str, dict[str, Figure]]:
    cases: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        if is_of_a_budget(figure):
            cases.setdefault(figure.case, {})[figure.metric] = figure
    return cases


def _row(case: str, by_metric: Mapping[str, Figure], chosen: str) -> tuple[Cell, ...]:
    shares = [Cell(_share(by_metric, metric)) for metric in _SHARES]
    tokens = _value(by_metric, "completion_tok")
    note = next((figure.reason for figure in by_metric.values() if figure.reason), "")
    word = Cell("recommended", Tone.GOOD) if case == chosen else Cell(note, Tone.MUTED)
    return (
        Cell(_name(case), Tone.STRONG),
        *shares,
        Cell(seconds(_value(by_metric, "e2e_s"))),
        Cell(UNKNOWN if tokens is None else f"{tokens:,.0f}"),
        word,
    )


def _share(by_metric: Mapping[str, Figure], metric: str) -> str:
    """`7 of 10` where the counts are told, else the share."""
    figure = by_metric.get(metric)
    count, of = (figure.detail.get(key) if figure else None for key in ("count", "of"))
    if isinstance(count, int) and isinstance(of, int):
        return f"{count} of {of}"
    return percent(_value(by_metric, metric))


def _value(by_metric: Mapping[str, Figure], metric: str) -> float | None:
    figure = by_metric.get(metric)
    return None if figure is None or figure.status is Status.INVALID else figure.value


def _name(case: str) -> str:
    return "none" if case == "no-budget" else case.removeprefix("budget")
