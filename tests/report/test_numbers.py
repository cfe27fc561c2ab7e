"""Numbers, units and names as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.report import numbers
from pitstop.report.flatten import entries, readable
from pitstop.report.labels import metric_title, row_label

_ANY = st.floats() | st.integers(-(10**40), 10**40) | st.none()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0, "0"),
        (78.64, "78.6"),
        (0.0621, "0.0621"),
        (7812.3, "7,812"),
        (999.9, "1,000"),
        (-3.2, "−3.20"),
        (1e12, "1.00e+12"),
        (1e-7, "1.00e−07"),
        (135, "135"),
    ],
)
def test_a_number_has_three_digits_and_an_unknown_one_is_no_zero(value: float | None, text: str) -> None:
    assert numbers.number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0621, "s", "62.1 ms"),
        (4.7, "s", "4.70 s"),
        (0.436, "fraction", "43.6 %"),
        (12 * 2**30, "bytes", "12.0 GiB"),
        (78.6, "tok/s", "78.6 tok/s"),
        (4.05, "", "4.05"),
        (None, "s", "–"),
    ],
)
def test_a_quantity_carries_its_unit(value: float | None, unit: str, text: str) -> None:
    assert numbers.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.031, "+3.1 %"), (0.934, "−6.6 %"), (1.0, "0 %"), (2.5, "+150 %"), (None, "–"), (1.0004, "+0.04 %")],
)
def test_a_ratio_is_told_as_a_change(ratio: float | None, text: str) -> None:
    assert numbers.change(ratio) == text


def test_a_spread_needs_two_samples() -> None:
    assert numbers.median_cell(78.6, [78.6]) == "78.6"
    assert numbers.median_cell(None, [77.9, 78.6, 79.1]) == "78.6 [77.9 – 79.1]"
    assert numbers.median_cell(None, []) == "–"
    assert numbers.mean_cell([78.0, 79.0]) == "78.5 ± 0.707"
    assert numbers.mean_cell([78.0]) == "78.0"


@given(_ANY)
def test_every_value_has_a_short_text(value: float | None) -> None:
    for text in (
        numbers.number(value),
        numbers.percent(value),
        numbers.percent(value, signed=True),
        numbers.seconds(value),
        numbers.size(value),
        numbers.change(value),
        numbers.median_cell(value, [] if value is None else [value, value]),
        numbers.mean_cell([] if value is None else [value, 1.0]),
        *(numbers.quantity(value, unit) for unit in ("s", "fraction", "bytes", "tok/s", "%", "")),
    ):
        assert 0 < len(text) < 60


@pytest.mark.parametrize(
    ("ruler", "case", "label"),
    [
        ("prefill", "pp8000", "pp8000"),
        ("decode", "prose/en/think-off", "tg512 prose/en/think-off"),
        ("concurrency", "c8", "tg512 (c8)"),
        ("concurrency", "sweep", "sweep"),
        ("long-input", "d32000", "tg @ d32000"),
        ("quality", "", "quality"),
        ("own", "case", "case"),
    ],
)
def test_rows_are_called_as_llama_bench_calls_them(ruler: str, case: str, label: str) -> None:
    assert row_label(ruler, case, {"max_tokens": 512}) == label


@pytest.mark.parametrize("settings", [{}, None, {"max_tokens": None}, {"max_tokens": "many"}, {"max_tokens": True}])
def test_a_label_without_a_known_length_names_none(settings: dict[str, object] | None) -> None:
    assert row_label("decode", "prose", settings) == "tg prose"


def test_an_unknown_metric_is_told_in_words() -> None:
    assert metric_title("cut_off_share") == "cut off share"
    assert metric_title("ttft_s") == "first token"


def test_leaves_are_found_at_their_path_and_told_in_their_unit() -> None:
    found = {
        key: readable(key, value)
        for key, value in entries(
            {"gpu": {"clock_mhz": 2411}, "free_bytes": 2**34, "wait_s": 90, "minimum_effect": 0.03}
        )
    }
    assert found == {
        "gpu.clock_mhz": "2,411",
        "free_bytes": "16.0 GiB",
        "wait_s": "1 min 30 s",
        "minimum_effect": "3.0 %",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        ("", "–"),
        (False, "no"),
        ([], "none"),
        ({}, "none"),
        ([1, None], "1, –"),
        ({"a": [1]}, "a 1"),
        (10**400, "–"),
    ],
)
def test_what_is_empty_or_unknown_is_said_in_words(value: object, text: str) -> None:
    assert readable("x", value) == text


def test_a_bottomless_value_ends() -> None:
    nested: list[object] = []
    for _ in range(5000):
        nested = [nested]
    assert readable("x", nested) == "…"
