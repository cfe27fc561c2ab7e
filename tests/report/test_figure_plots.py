"""Which picture shows which ruler."""

from __future__ import annotations

import pytest

from pitstop.core.documents import Figure, Status
from pitstop.report.figure_plots import Arm, arms_of, figure_plots
from pitstop.report.sheet import Plot
from support import documents as made


def _plots(figures: list[Figure], *others: Arm) -> dict[str, Plot]:
    return {
        plot.title: plot for plot in figure_plots([Arm("a" if others else "", figures), *others], {"max_tokens": 64})
    }


def test_every_ruler_of_the_reports_has_its_picture() -> None:
    figures = [*made.figures(), *made.thinking_figures(), *made.mutual_figures()]
    assert {
        "decode by condition",
        "prefill",
        "throughput against streams at once",
        "first token against streams at once",
        "thinking budgets",
        "kept while the other model works",
    } <= set(_plots(figures))


def test_three_prompt_sizes_are_a_curve_and_two_are_rows() -> None:
    sizes = [made.figure("prefill", f"pp{n}", "prefill_tok_s", "tok/s", (6000.0,)) for n in (4000, 8000, 30000)]
    assert set(_plots(sizes)) == {"prefill against prompt tokens"}
    assert set(_plots(sizes[:2])) == {"prefill"}


def test_the_knee_is_the_rulers_own_and_only_for_a_single_run() -> None:
    title = "throughput against streams at once"
    assert "knee at 8" in _plots(made.figures())[title].wide
    assert "knee at" not in _plots(made.figures(), Arm("b", made.figures(1.1)))[title].wide


def test_an_unknown_ruler_is_shown_before_anybody_knows_it() -> None:
    plots = _plots([made.figure("patience", "x", "waited_s", "s", (1.0, 2.0))])
    assert set(plots) == {"patience: waited s"}


@pytest.mark.parametrize("status", [Status.INVALID, Status.UNAVAILABLE])
def test_what_may_not_be_quoted_has_a_word_and_no_mark(status: Status) -> None:
    good = made.figure("decode", "good", "decode_tok_s", "tok/s", (50.0,))
    bad = made.figure("decode", "bad", "decode_tok_s", "tok/s", (987654.0,), status=status)
    picture = _plots([good, bad])["decode by condition"].wide
    assert status.value in picture
    assert "987,654" not in picture
    assert picture.count("h0") == 1


def test_the_first_answer_token_is_drawn_only_where_it_is_another_one() -> None:
    first = made.figure("decode", "x", "ttft_s", "s", (0.1, 0.2))
    same = made.figure("decode", "x", "ttfa_s", "s", (0.1, 0.2))
    later = made.figure("decode", "x", "ttfa_s", "s", (3.1, 3.2))
    assert set(_plots([first, same])) == {"first token by condition"}
    assert set(_plots([first, later])) == {"first token by condition", "first answer token by condition"}


def test_boots_of_an_arm_are_one_row_with_all_their_samples() -> None:
    runs = [made.run(figures=[made.figure("decode", "x", "decode_tok_s", "tok/s", (v, v + 1))]) for v in (90.0, 92.0)]
    (plot,) = figure_plots(arms_of([("production", run) for run in runs]), {})
    assert plot.wide.count("h0") == 4
    assert ">92.0<" in plot.wide  # the median of the boots' medians


def test_no_figure_no_picture() -> None:
    assert figure_plots([], {}) == []
    assert _plots([made.figure("decode", "x", "decode_tok_s", "tok/s", (), status=Status.UNAVAILABLE)]) == {}
