"""A run as tables: reasons beside the numbers, the reports' own tables for their own rulers."""

from __future__ import annotations

import msgspec

from pitstop.core.documents import RequestRecord, Status
from pitstop.report.budgets import budget_table, recommended, trades
from pitstop.report.mutual import mutual_table
from pitstop.report.run_tables import conditions_table, figure_tables, requests_table, run_tables
from pitstop.report.table import Table, Tone
from support import documents as made


def _texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_a_figure_tells_its_value_spread_count_unit_and_status() -> None:
    run = made.run(figures=[made.figure("decode", "prose", "ttft_s", "s", (0.0612, 0.0621, 0.0634))])
    table = next(iter(figure_tables(run)))
    assert _texts(table) == [["tg512 prose", "first token", "62.1", "[61.2 – 63.4]", "3", "ms", "ok"]]
    assert table.footnotes == ("Counted from: usage, continuous usage",)


def test_what_is_not_ok_says_why_below_the_table() -> None:
    tables = list(figure_tables(made.run(figures=made.awkward_figures())))
    notes = [note for table in tables for note in table.footnotes]
    assert "pp8000 prefill: invalid, 7,936 of 8,000 tokens came from the cache" in notes
    assert "code/en/think-off decode: unavailable, the server sent no usage" in notes
    assert any("between 58.2 tok/s and 61.9 tok/s" in note for note in notes)


def test_an_invalid_number_is_not_written_strongly() -> None:
    rows = [row for table in figure_tables(made.run(figures=made.awkward_figures())) for row in table.rows]
    tones = {row[-1].text: row[2].tone for row in rows}
    assert tones == {"unverified": Tone.STRONG, "invalid": Tone.MUTED, "unavailable": Tone.MUTED}


def test_failed_requests_are_counted_by_reason_and_lend_no_counts() -> None:
    failed = [RequestRecord(ruler="decode", case="x", ok=False, error=error, prompt_tokens=9) for error in "aab"]
    good = RequestRecord(ruler="decode", case="x", ok=True, prompt_tokens=48, completion_tokens=512)
    assert _texts(requests_table([good, *failed])) == [["decode", "x", "1", "3", "48", "512", "2 × a; 1 × b"]]


def test_conditions_stand_before_beside_after_and_unknown_ones_are_dashes() -> None:
    run = made.run(host={}, conditions={"before": {"a_bytes": 2**34}, "after": {"a_bytes": None, "b": 1}, "foreign": 0})
    assert _texts(conditions_table(run)) == [["a_bytes", "16.0 GiB", "–"], ["b", "–", "1"], ["foreign", "", "0"]]


def test_conditions_of_another_shape_are_listed_as_they_are() -> None:
    assert _texts(conditions_table(made.run(host={}, conditions={"before": "quiet"}))) == [["before", "quiet"]]


def test_budgets_have_the_second_reports_table_with_the_recommended_one_marked() -> None:
    table = budget_table(made.thinking_figures())
    assert _texts(table)[2] == ["768", "7 of 10", "3 of 10", "0 of 10", "–", "15.2 s", "1,480", "recommended"]
    assert [row[0] for row in _texts(table)] == ["none", "512", "768", "1536"]


def test_the_trade_of_a_budget_is_its_time_and_what_finished() -> None:
    chosen = [(trade.label, trade.time_s, trade.finished) for trade in trades(made.thinking_figures()) if trade.chosen]
    assert chosen == [("768", 15.2, 0.7)]


def test_no_recommendation_marks_nothing() -> None:
    figures = [figure for figure in made.thinking_figures() if figure.case != "budgets"]
    assert recommended(figures) == ""
    assert not any(trade.chosen for trade in trades(figures))


def test_sending_no_budget_can_be_the_recommendation() -> None:
    advice = made.figure(
        "thinking", "budgets", "recommended_budget_tok", "tok", (0.0,), detail={"send_a_budget": False}
    )
    none = msgspec.structs.replace(advice, value=None, status=Status.UNAVAILABLE, reason="send none")
    assert recommended([none]) == recommended([advice]) == "no-budget"


def test_mutual_load_has_the_second_reports_table() -> None:
    assert _texts(mutual_table(made.mutual_figures())) == [
        ["qwen/c8", "263", "108", "41.0 %", "212 ms", "419 ms"],
        ["nemotron/c8", "293", "150", "51.0 %", "212 ms", "419 ms"],
        ["all/c8", "–", "257", "–", "–", "–"],
    ]


def test_a_doubted_retention_looks_doubtful() -> None:
    figures = [
        msgspec.structs.replace(one, status=Status.UNVERIFIED) if one.metric == "retention" else one
        for one in made.mutual_figures()
    ]
    assert [row[3].tone for row in mutual_table(figures).rows] == [Tone.WARN, Tone.WARN, Tone.STRONG]


def test_tables_without_rows_are_left_out() -> None:
    titles = [
        table.title for table in run_tables(made.run(requests=[], warnings=[], settings={}, host={}, conditions={}))
    ]
    assert titles == ["decode", "prefill", "concurrency", "engine"]
