from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.client.chat import Reply
from pitstop.client.decode import Decode as Rate
from pitstop.core.documents import RequestRecord, Status
from pitstop.rulers.batch import Batch, Batches
from pitstop.rulers.figures import Measured, failure_reason, median_bounds, why_uncounted
from pitstop.rulers.single_stream import SingleStream

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


def reply(ok=True, **counts):
    kept = RequestRecord(
        ruler="r", case="c", ok=ok, error="" if ok else "reset: it broke", events=20,
        ttfr_s=0.1, ttft_s=0.1, ttfa_s=0.1, e2e_s=1.0, **{"completion_tokens": 20, **counts},
    )  # fmt: skip
    rate = Rate(20.0, (19.0, 21.0), 20.0) if counts.get("completion_tokens", 20) else Rate(reason="too few tokens")
    return Reply(kept, decode=rate)


def of_one_stream(measured, replies):
    return SingleStream(measured, replies).figures()


def of_batches(measured, replies):
    return Batches(1, [Batch([one]) for one in replies]).figures(measured)


@pytest.mark.parametrize("made", [of_one_stream, of_batches])
def test_figures_of_a_case_with_failed_requests_are_not_verified(made):
    def figures(*replies):
        return made(Measured("decode", "c", "usage"), replies)

    assert {figure.status for figure in figures(reply(), reply())} == {Status.OK}
    mixed = figures(reply(), reply(ok=False), reply())
    assert {figure.status for figure in mixed} == {Status.UNVERIFIED}
    assert all("1 of 3 requests failed: reset: it broke" in figure.reason for figure in mixed)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"completion_tokens": None}, "sent no usage"),
        ({"completion_tokens": 0}, "counted 0 tokens"),
        (
            {"completion_tokens": None, "anomalies": ("usage-unusable: completion_tokens: -5",)},
            "(completion_tokens: -5)",
        ),
    ],
)
def test_why_nothing_was_counted_is_said(counts, words):
    assert words in why_uncounted([reply(**counts).record])
    [figure] = [f for f in SingleStream(Measured("r", "c", "none"), [reply(**counts)]).figures()
                if f.metric == "throughput_tok_s"]  # fmt: skip
    assert (figure.status, words in figure.reason) == (Status.UNAVAILABLE, True)
