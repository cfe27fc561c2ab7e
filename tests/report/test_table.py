"""The table value in its three text forms."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.report.clean import REPLACEMENT, one_line, shorten, width
from pitstop.report.table import Cell, Column, Table, markdown_escape
from pitstop.report.trial_tables import verdict_table
from support import documents as made
from support.document_strategies import texts

_GOLDEN = Path(__file__).parent / "golden"


def _table(rows: list[list[str]], notes: tuple[str, ...] = ()) -> Table:
    columns = (Column("name"), Column("value", "right"))
    return Table("figures", columns, tuple(tuple(Cell(text) for text in row) for row in rows), notes)


def test_the_verdict_table_as_text_is_the_golden_one() -> None:
    assert verdict_table(made.trial()).as_text() == (_GOLDEN / "verdicts.txt").read_text("utf-8")


def test_the_verdict_table_as_markdown_is_the_golden_one() -> None:
    assert verdict_table(made.trial()).as_markdown() == (_GOLDEN / "verdicts.md").read_text("utf-8")


def test_columns_are_aligned_by_what_a_terminal_shows_not_by_code_points() -> None:
    lines = _table([["模型", "1"], ["ab", "20"]]).as_text().splitlines()
    assert lines[4] == "模型      1"
    assert lines[5] == "ab       20"


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells under 2 columns"):
        _table([["only one"]])


def test_a_cell_is_one_clean_line() -> None:
    assert Cell("a\n\tb \x1b[31m\u202e").text == f"a b {REPLACEMENT}[31m{REPLACEMENT}"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("<img src=x>", r"\<img src=x\>"),
        ("decode_tok_s", "decode_tok_s"),
        ("_loud_", r"\_loud\_"),
        ("[x](y)", r"\[x\](y)"),
        ("back`tick", r"back\`tick"),
        ("two\nlines", "two lines"),
        ("&lt;", r"\&lt;"),
    ],
)
def test_markdown_is_shown_and_not_read(text: str, escaped: str) -> None:
    assert markdown_escape(text) == escaped


@given(st.lists(st.tuples(texts, texts), max_size=5))
def test_a_markdown_table_has_one_line_per_row_and_the_same_bars_in_each(rows: list[tuple[str, str]]) -> None:
    lines = _table([list(row) for row in rows]).as_markdown().splitlines()
    assert len(lines) == 4 + len(rows)
    assert {line.replace(r"\|", "").replace("\\\\", "").count("|") for line in lines[2:]} == {3}


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3", "'-2+3"),
        ("+cmd", "'+cmd"),
        ("\t=1", "'=1"),
        ("-2.5", "-2.5"),
        ("1e-3", "1e-3"),
        ("plain", "plain"),
    ],
)
def test_no_csv_cell_is_a_formula_and_a_number_stays_one(text: str, cell: str) -> None:
    assert list(csv.reader(io.StringIO(_table([[text, "1"]]).as_csv())))[1][0] == cell


@given(st.lists(st.tuples(texts, texts), max_size=5))
def test_csv_gives_back_as_many_cells_as_were_put_in(rows: list[tuple[str, str]]) -> None:
    read = list(csv.reader(io.StringIO(_table([list(row) for row in rows]).as_csv())))
    assert [len(row) for row in read] == [2] * (len(rows) + 1)


@given(texts, st.integers(1, 40))
def test_a_shortened_text_fits_and_keeps_both_ends(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short == text or "…" in short
    if len(text) > limit > 3:
        assert text.startswith(short.split("…")[0])
        assert text.endswith(short.split("…")[-1])


def test_wide_and_combining_characters_take_the_columns_they_take() -> None:
    assert width("模") == 2
    assert width("e\u0301") == 1
    assert one_line("  a \u00a0 b ") == "a b"
