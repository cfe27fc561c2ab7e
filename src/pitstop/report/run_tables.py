"""A run document as tables: what was found first, then what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pitstop.core.documents import EngineIdentity, Figure, Notice, RequestRecord, RunDocument, Status
from pitstop.report import mutual
from pitstop.report.budgets import budget_table, is_of_a_budget
from pitstop.report.clean import shorten
from pitstop.report.flatten import entries, readable
from pitstop.report.labels import metric_title, row_label
from pitstop.report.numbers import UNKNOWN, finite, handy_unit, moment, number, quantity, scaled, spread
from pitstop.report.quiet import key_of, never_happened
from pitstop.report.table import Cell, Column, Table, Tone

STATUS_TONES = {
    Status.OK: Tone.GOOD,
    Status.UNVERIFIED: Tone.WARN,
    Status.INVALID: Tone.BAD,
    Status.UNAVAILABLE: Tone.MUTED,
}
_FIGURE_COLUMNS = (
    Column("test"),
    Column("figure"),
    Column("median", "right"),
    Column("samples", "right"),
    Column("n", "right"),
    Column("unit"),
    Column("status"),
)
_REQUEST_COLUMNS = (
    Column("ruler"),
    Column("case"),
    Column("answered", "right"),
    Column("failed", "right"),
    Column("prompt tok", "right"),
    Column("output tok", "right"),
    Column("why failed"),
)


def run_tables(run: RunDocument) -> list[Table]:
    """Every table of a run, in the order of the report; those without rows are left out."""
    tables = [*figure_tables(run), requests_table(run.requests), identity_table(run.engine), conditions_table(run)]
    tables += [asked_table(run.settings), warnings_table(run.warnings)]
    return [table for table in tables if table.rows]


def figure_tables(run: RunDocument) -> Iterator[Table]:
    """One table per ruler, in the order in which they were measured; budgets and mutual load have one more."""
    for ruler, figures in by_ruler(run.figures).items():
        if any(map(is_of_a_budget, figures)):
            yield budget_table(figures)
        if ruler == mutual.RULER:
            yield mutual.mutual_table(figures)
        quiet = never_happened(figures)
        listed = [figure for figure in figures if not is_of_a_budget(figure) and key_of(figure) not in quiet]
        if listed:
            notes = dict.fromkeys(note for figure in listed for note in _notes(figure))
            rows = tuple(_figure_row(figure, run.settings) for figure in listed)
            yield Table(ruler, _FIGURE_COLUMNS, rows, (*notes, _sources(listed)))


def by_ruler(figures: Iterable[Figure]) -> dict[str, list[Figure]]:
    """Figures grouped by ruler, both in order of appearance."""
    groups: dict[str, list[Figure]] = {}
    for figure in figures:
        groups.setdefault(figure.ruler, []).append(figure)
    return groups


def requests_table(requests: Iterable[RequestRecord]) -> Table:
    """How many requests were answered and why the others were not; failed ones enter no figure."""
    groups: dict[tuple[str, str], list[RequestRecord]] = {}
    for request in requests:
        groups.setdefault((request.ruler, request.case), []).append(request)
    return Table("requests", _REQUEST_COLUMNS, tuple(_request_row(*key, group) for key, group in groups.items()))


def identity_table(engine: EngineIdentity) -> Table:
    """Which engine answered."""
    facts = {
        "kind": engine.kind,
        "model": engine.model,
        "version": engine.version and f"{engine.version} (from {engine.version_source})",
        "image digest": engine.image_digest,
        "container": engine.container_id,
        "process": engine.pid,
        "started": engine.started_at and moment(engine.started_at),
        "launch fingerprint": engine.fingerprint,
    }
    return facts_table("engine", facts)


def conditions_table(run: RunDocument) -> Table:
    """Everything that was read of the box around the run, before beside after where both are known."""
    before, after = (run.conditions.get(side) for side in ("before", "after"))
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        return facts_table("conditions", {**run.host, **run.conditions})
    rest = {key: value for key, value in run.conditions.items() if key not in ("before", "after")}
    old, new = dict(entries(before)), dict(entries(after))
    rows = [(key, readable(key, old.get(key)), readable(key, new.get(key))) for key in {**old, **new}]
    rows += [(key, "", readable(key, value)) for key, value in entries({**run.host, **rest})]
    columns = (Column("condition"), Column("before", "right"), Column("after", "right"))
    return Table("conditions", columns, tuple(tuple(Cell(text) for text in row) for row in rows))


def asked_table(settings: Mapping[str, Any]) -> Table:
    return facts_table("asked for", settings)


def warnings_table(warnings: Iterable[Notice]) -> Table:
    rows = tuple((Cell(notice.code, Tone.WARN), Cell(notice.text)) for notice in warnings)
    return Table("warnings", (Column("code"), Column("what happened")), rows)


def facts_table(title: str, facts: Mapping[str, Any]) -> Table:
    """Names and values; nested ones by their path, unknown ones as a dash."""
    rows = tuple((Cell(key), _fact(readable(key, value))) for key, value in entries(facts))
    return Table(title, (Column("what"), Column("value")), rows)


def figure_label(figure: Figure, settings: Mapping[str, Any]) -> str:
    """The llama-bench row label of a figure."""
    return row_label(figure.ruler, figure.case, settings)


def _fact(text: str) -> Cell:
    return Cell(text, Tone.MUTED if text == UNKNOWN else Tone.PLAIN)


def _figure_row(figure: Figure, settings: Mapping[str, Any]) -> tuple[Cell, ...]:
    quotable = figure.status in (Status.OK, Status.UNVERIFIED)
    tone = Tone.STRONG if quotable and figure.value is not None else Tone.MUTED
    factor, unit = handy_unit(figure.unit, figure.value)
    return (
        Cell(figure_label(figure, settings)),
        Cell(metric_title(figure.metric)),
        Cell(number(scaled(figure.value, factor)), tone),
        Cell(spread(sample * factor for sample in finite(figure.samples))),
        Cell(str(figure.n)),
        Cell(unit, Tone.MUTED),
        Cell(figure.status.value, STATUS_TONES[figure.status]),
    )


def _notes(figure: Figure) -> Iterator[str]:
    """Why a figure is not simply `ok`, and how far the way of counting leaves it open."""
    name = f"{figure.case} {metric_title(figure.metric)}".strip()
    if figure.status is not Status.OK or figure.reason:
        yield f"{name}: {figure.status.value}{', ' if figure.reason else ''}{figure.reason}"
    if figure.interval is not None and figure.interval[0] != figure.interval[1]:
        low, high = (quantity(bound, figure.unit) for bound in figure.interval)
        is_share = figure.metric == "score" or figure.metric.endswith("_share")
        why = "with 95 % confidence" if is_share else "given how tokens and times were counted"
        yield f"{name}: between {low} and {high}, {why}"
    share, limit_from = figure.detail.get("share_of_limit"), figure.detail.get("limit_from")
    if isinstance(share, float) and figure.metric == "decode_tok_s":
        yield f"{name}: {share:.0%} of what the memory can do, {limit_from}"


def _sources(figures: Iterable[Figure]) -> str:
    return "Counted from: " + "; ".join(dict.fromkeys(figure.source or "not said" for figure in figures))


def _request_row(ruler: str, case: str, group: list[RequestRecord]) -> tuple[Cell, ...]:
    good = [request for request in group if request.ok]
    failed = Counter(request.error or "no reason given" for request in group if not request.ok)
    why = "; ".join(f"{count} × {shorten(error, 300)}" for error, count in failed.most_common())
    return (
        Cell(ruler),
        Cell(case),
        Cell(str(len(good))),
        Cell(str(failed.total()), Tone.BAD if failed else Tone.MUTED),
        Cell(_range([request.prompt_tokens for request in good])),
        Cell(_range([request.completion_tokens for request in good])),
        Cell(why),
    )


def _range(counts: list[int | None]) -> str:
    known = [count for count in counts if count is not None]
    if not known:
        return UNKNOWN
    low, high = min(known), max(known)
    return f"{low:,}" if low == high else f"{low:,} – {high:,}"
