"""Plots: any numbers give a picture whose marks lie inside it and whose labels do not overlap."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pitstop.report.plots.bars import Bar, share_bars
from pitstop.report.plots.curves import Curve, curves
from pitstop.report.plots.dots import DotRow, dot_rows
from pitstop.report.plots.forest import ForestRow, forest
from pitstop.report.plots.frame import Box, Size, not_overlapping
from pitstop.report.plots.frontier import Trade, frontier, unbeaten
from pitstop.report.plots.memory import MemoryCurve, lowest_kept, memory_plot
from pitstop.report.plots.scale import linear, logarithmic, plottable, round_ticks, scale_for
from pitstop.report.plots.svg import fit, text_width
from support.document_strategies import floats, maybe_floats, texts
from support.markup import read_svg

_GOLDEN = Path(__file__).parent / "golden"
_SVG = "{http://www.w3.org/2000/svg}"
sizes = st.sampled_from(Size)
samples = st.lists(floats, max_size=12).map(tuple)
pairs = st.none() | st.tuples(floats, floats)

dot_row = st.builds(DotRow, label=texts, samples=samples, value=maybe_floats, heading=texts, bounds=pairs, note=texts)
forest_row = st.builds(
    ForestRow,
    label=texts,
    ratio=maybe_floats,
    interval=pairs,
    minimum_effect=floats,
    noise_floor=maybe_floats,
    word=texts,
    tone=st.sampled_from(["good", "bad", "warn", "plain", "muted"]),
)
curve = st.builds(Curve, name=texts, samples=st.dictionaries(st.integers(0, 10**9), samples, max_size=9))
trade = st.builds(Trade, label=texts, time_s=floats, finished=floats, chosen=st.booleans())
bar = st.builds(Bar, label=texts, share=maybe_floats, samples=samples, note=texts)
memory = st.builds(
    MemoryCurve,
    samples=st.lists(st.tuples(floats, maybe_floats, maybe_floats), max_size=20).map(tuple),
    floor_bytes=maybe_floats,
)
pictures = st.one_of(
    st.builds(dot_rows, texts, texts, st.lists(dot_row, max_size=5), sizes),
    st.builds(forest, texts, st.lists(forest_row, max_size=5), sizes),
    st.builds(curves, texts, texts, texts, st.lists(curve, max_size=3), sizes, knee=st.none() | st.integers(0, 99)),
    st.builds(frontier, texts, st.lists(trade, max_size=6), sizes),
    st.builds(share_bars, texts, texts, st.lists(bar, max_size=5), sizes),
    st.builds(memory_plot, texts, memory, sizes),
)


def _marks_outside(root: ET.Element) -> list[float]:
    wide = float(root.attrib["width"])
    across = [element.attrib[key] for element in root.iter() for key in ("x", "x1", "x2") if key in element.attrib]
    return [float(x) for x in across if not -1 <= float(x) <= wide + 1]


@settings(max_examples=300, deadline=None)
@given(svg=pictures)
def test_any_numbers_give_a_picture_with_every_mark_inside(svg: str) -> None:
    root = read_svg(svg)
    assert root.attrib["role"] == "img"
    assert _marks_outside(root) == []


def test_the_forest_is_the_golden_one() -> None:
    rows = [
        ForestRow("k2 · tg512 code decode", 0.934, (0.915, 0.953), 0.03, 0.011, "▼ worse", "bad"),
        ForestRow("k4 · pp8000 prefill", 1.02, (0.96, 1.084), 0.03, None, "? undecided", "warn"),
        ForestRow('k9 · a <hostile> & "long" name', None, None, 0.03, None, "? undecided", "muted"),
    ]
    assert forest("change against production", rows) + "\n" == (_GOLDEN / "forest.svg").read_text("utf-8")


def test_the_dots_are_the_golden_ones() -> None:
    rows = [
        DotRow("production", (94.2, 95.1, 94.6), 94.6, 0, heading="tg512 prose/en/think-off"),
        DotRow("k2", (88.1,), 88.1, 1, bounds=(86.0, 90.0)),
        DotRow("k4", (), None, 2, note="unavailable"),
    ]
    assert dot_rows("decode by condition", "tok/s", rows, Size.NARROW) + "\n" == (_GOLDEN / "dots.svg").read_text(
        "utf-8"
    )


def _dot_count(svg: str, style: str) -> int:
    paths = read_svg(svg).iter(f"{_SVG}path")
    return sum(path.attrib["d"].count("M") for path in paths if path.attrib["class"] == style)


@pytest.mark.parametrize("count", [1, 2, 200])
def test_every_sample_is_a_dot(count: int) -> None:
    row = DotRow("x", tuple(90 + index / 10 for index in range(count)), 90.0, 1)
    assert _dot_count(dot_rows("t", "tok/s", [row]), "dots s1") == count
    points = curves("t", "tok/s", "streams", [Curve("", {1: row.samples, 8: row.samples})])
    assert _dot_count(points, "dots s1") == 2 * count


def test_labels_of_twenty_arms_and_a_hundred_levels_do_not_overlap() -> None:
    places = [(40 + 9 * index, f"{2**index:,}") for index in range(60)]
    kept = not_overlapping(places, Box(40, 0, 600, 100, 640))
    ends = [(x - text_width(label, 11) / 2, x + text_width(label, 11) / 2) for x, label in kept]
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))
    assert len(kept) > 5


def test_the_rows_of_a_plot_have_their_own_lines() -> None:
    rows = [DotRow(f"arm {index}", (1.0,), 1.0, index, heading="case" if index % 3 == 0 else "") for index in range(20)]
    for size in Size:
        labels = [
            e for e in read_svg(dot_rows("t", "tok/s", rows, size)).iter(f"{_SVG}text") if e.attrib["class"] == "label"
        ]
        heights = sorted(float(label.attrib["y"]) for label in labels)
        assert min(after - before for before, after in itertools.pairwise(heights)) >= 14


def test_crowded_budgets_leave_a_label_out_rather_than_print_over_another() -> None:
    trades = [Trade(str(512 + index), 10.0, 0.7) for index in range(20)]
    root = read_svg(frontier("t", trades))
    labels = [element for element in root.iter(f"{_SVG}text") if (element.text or "").isdigit()]
    assert 1 <= len(labels) <= 4
    assert len(list(root.iter(f"{_SVG}g"))) == 20


def test_the_frontier_holds_who_is_beaten_by_nobody() -> None:
    fast, good, bad = Trade("512", 11.8, 0.9), Trade("1024", 20.0, 1.0), Trade("1536", 25.0, 0.1)
    assert unbeaten([bad, good, fast]) == [fast, good]


def test_an_interval_beyond_the_picture_ends_in_an_arrow() -> None:
    row = ForestRow("x", 1.0, (1e-9, 1e9), 0.03, None, "? undecided", "warn")
    assert len(list(read_svg(forest("t", [row])).iter(f"{_SVG}polygon"))) == 2


def test_more_points_than_pixels_keep_the_dip() -> None:
    points = [(float(t), 50.0 if t != 4321 else 7.5) for t in range(10_000)]
    kept = lowest_kept(points)
    assert len(kept) <= 402
    assert (4321.0, 7.5) in kept
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]


finite = st.floats(-1e15, 1e15)


@given(finite, finite, st.integers(2, 10))
@example(421052631631579.0, 421052631631579.0, 2)
def test_ticks_are_round_few_and_inside(one: float, other: float, wanted: int) -> None:
    scale = linear(min(one, other), max(one, other), 0, 100, ticks=wanted)
    assert 1 <= len(scale.ticks) <= 13
    assert list(scale.ticks) == sorted(scale.ticks)
    assert all(-1 <= scale(tick) <= 101 for tick in scale.ticks)


@given(st.lists(floats, max_size=8))
def test_a_scale_takes_any_values_to_the_picture(values: list[float]) -> None:
    known = plottable(values)
    scale = scale_for(known, 40, 640)
    assert all(math.isfinite(scale(value)) and 40 <= scale(value) <= 640 for value in known)


def test_a_scale_starts_at_zero_where_zero_is_near_and_says_so_where_not() -> None:
    assert scale_for([10.0, 50.0], 0, 100)(0.0) == 0
    assert min(scale_for([94.0, 96.0], 0, 100).ticks) >= 93
    assert scale_for([94.0, 96.0], 0, 100, zero=True).ticks[0] == 0


def test_values_that_differ_a_hundredfold_get_a_logarithmic_scale() -> None:
    scale = scale_for([0.01, 10.0], 0, 300)
    assert scale(0.1) - scale(0.01) == pytest.approx(scale(10.0) - scale(1.0))
    assert logarithmic(1e-12, 1e15, 0, 300).ticks
    assert len(logarithmic(1e-12, 1e15, 0, 300).ticks) <= 9


def test_round_ticks_are_multiples_of_one_two_or_five() -> None:
    assert round_ticks(0, 100, 5) == (0, 20, 40, 60, 80, 100)
    assert round_ticks(-0.3, 0.3, 6) == pytest.approx((-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3))


@given(texts, st.floats(10, 500))
def test_a_fitted_text_is_not_wider_than_its_room(text: str, room: float) -> None:
    fitted = fit(text, room)
    assert text_width(fitted) <= room or len(fitted) <= 2
