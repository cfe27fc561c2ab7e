from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from pitstop.core.documents import RequestRecord, Status
from pitstop.rulers.figures import Measured
from pitstop.rulers.retention import Taken, retention, sentence, total

MEASURED = Measured("mutual-load", "a/c2", "a source")


@dataclass
class Seen:
    """A batch of one reply that came at a known rate."""

    throughput_tok_s: float | None
    anomaly: str = ""

    @property
    def whole(self):
        return self.throughput_tok_s is not None

    @property
    def replies(self):
        told = (self.anomaly,) if self.anomaly else ()
        return [SimpleNamespace(record=RequestRecord(ruler="r", case="c", ok=self.whole, anomalies=told))]


def taken(alone, shared, **more):
    return Taken([Seen(rate) for rate in alone], [Seen(rate) for rate in shared], **more)


def test_it_is_the_ratio_of_the_medians_and_every_run_s_own_is_kept():
    figure = retention(MEASURED, taken([100, 110, 90], [41, 60, 45]))
    assert (figure.value, figure.status) == (0.45, Status.OK)
    assert figure.detail["by_run"] == pytest.approx([0.41, 60 / 110, 0.5])


@pytest.mark.parametrize(
    ("alone", "shared", "status"),
    [
        ([100.0], [100.0], Status.OK),
        ([100.0], [110.0], Status.OK),  # within what clocks and short answers do
        ([100.0], [111.0], Status.UNVERIFIED),
        ([100.0, 50.0, 100.0], [60.0, 150.0, 60.0], Status.OK),  # one slow moment does not carry the median
        ([40.0, 40.0, 100.0], [60.0, 60.0, 60.0], Status.UNVERIFIED),
    ],
)
def test_who_gets_faster_by_sharing_was_disturbed_before(alone, shared, status):
    figure = retention(MEASURED, taken(alone, shared))
    assert figure.status is status
    assert figure.value == pytest.approx(sorted(shared)[len(shared) // 2] / sorted(alone)[len(alone) // 2])
    assert ("faster beside the others than alone" in figure.reason) == (status is Status.UNVERIFIED)


@pytest.mark.parametrize(("alone", "shared"), [([None], [5.0]), ([5.0], [None]), ([], [])])
def test_without_both_conditions_there_is_none(alone, shared):
    figure = retention(MEASURED, taken(alone, shared))
    assert (figure.status, figure.value) == (Status.UNAVAILABLE, None)
    assert "both alone and beside" in figure.reason


def test_a_batch_that_broke_a_doubtful_count_and_a_load_that_failed_are_all_said():
    broken = retention(MEASURED, taken([100.0, 100.0], [50.0, None]))
    assert (broken.value, broken.status) == (0.5, Status.UNVERIFIED)
    assert "1 of 4 batches had a request that failed" in broken.reason
    counted = Taken([Seen(100.0, "usage-fell: 9 then 8")], [Seen(50.0)])
    assert retention(MEASURED, counted).reason == "usage-fell: 9 then 8"
    load = retention(MEASURED, taken([100.0], [50.0], load_errors=["reset"], load_requests=3))
    assert load.status is Status.UNVERIFIED
    assert load.reason == "1 of the others' 3 requests failed: reset; the load was less than it says"


def test_a_sum_needs_every_model():
    assert total(MEASURED, {"a": (10.0, 4.0), "b": (9.0, 5.0)}).value == 9.0
    assert total(MEASURED, {"a": (10.0, 4.0), "b": (None, 5.0)}).status is Status.UNAVAILABLE


def test_the_sentence_is_the_second_report_s_when_the_figures_are():
    rates = {"qwen": (262.7, 107.7), "nemotron": (293.3, 149.6)}
    text = sentence(8, rates)
    assert "flexibility, not throughput" in text
    assert "together 257.3 tok/s" in text
    assert "more throughput" in sentence(8, {"a": (100.0, 90.0), "b": (100.0, 90.0)})
