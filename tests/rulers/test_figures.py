from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.documents import RequestRecord, Status
from pitstop.rulers.figures import Measured, failure_reason, median_bounds

numbers = st.floats(0, 1e6)


@given(st.lists(st.tuples(numbers, numbers, st.floats(0, 1)), min_size=1, max_size=9))
def test_the_median_of_the_truths_lies_within_the_median_bounds(drawn):
    bounds = [(min(a, b), max(a, b)) for a, b, _ in drawn]
    truths = [low + (high - low) * share for (low, high), (_, _, share) in zip(bounds, drawn, strict=True)]
    low, high = median_bounds(bounds)
    assert low - 1e-6 <= median(truths) <= high + 1e-6


def test_a_figure_keeps_every_sample_and_its_status_follows_its_doubts():
    measured = Measured("decode", "c", "usage")
    assert measured.figure("decode_tok_s", [3.0, 1.0, 2.0]).value == 2.0
    assert measured.figure("decode_tok_s", [3.0, 1.0, 2.0]).samples == (3.0, 1.0, 2.0)
    doubted = measured.figure("decode_tok_s", [1.0], doubts=("a", "a", "b"))
    assert (doubted.status, doubted.reason) == (Status.UNVERIFIED, "a; b")
    invalid = measured.figure("decode_tok_s", [1.0], doubts=("a",), invalid="warm")
    assert (invalid.status, invalid.reason) == (Status.INVALID, "warm")
    nothing = measured.figure("decode_tok_s", [], missing="no usage")
    assert (nothing.value, nothing.status, nothing.reason, nothing.n) == (None, Status.UNAVAILABLE, "no usage", 0)


def record(ok, error=""):
    return RequestRecord(ruler="r", case="c", ok=ok, error=error)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], "no request was sent"),
        ([record(True)], "no request gave this value"),
        ([record(False, "reset")] * 3, "3 of 3 requests failed: reset"),
        ([record(False, "reset"), record(False, "busy"), record(True)], "2 of 3 requests failed: reset | busy"),
    ],
)
def test_why_there_is_no_figure_is_said_with_the_errors(records, expected):
    assert failure_reason(records) == expected
