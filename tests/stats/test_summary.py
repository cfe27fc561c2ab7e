import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.stats.summary import geometric_mean, mean, median, quantile, sd, summarise

samples = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30)


def test_nothing_has_no_summary():
    assert summarise([]) is None
    assert [f([]) for f in (median, mean, sd, geometric_mean)] == [None] * 4
    assert quantile([], 0.95) is None


def test_one_sample_has_no_standard_deviation():
    summary = summarise([78.4])
    assert (summary.median, summary.sd, summary.spread) == (78.4, None, 0)


def test_the_median_of_three_ignores_a_run_gone_wrong():
    """The first report: one prose run fell to 9.8 tok/s against a median of 80."""
    assert median([80.1, 9.8, 80.0]) == 80.0
    assert summarise([80.1, 9.8, 80.0]).spread == pytest.approx(70.3)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(bad):
    for function in (summarise, median, mean, sd, geometric_mean):
        with pytest.raises(ValueError, match="no sample"):
            function([1.0, bad])


def test_a_quantile_outside_all_samples_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile([1.0], 95)


def test_a_geometric_mean_refuses_what_is_not_above_zero():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4)
    with pytest.raises(ValueError, match="above zero"):
        geometric_mean([1.0, 0.0])


@given(samples, st.floats(0, 1))
def test_quantiles_are_numpys_and_moments_the_standard_librarys(values, share):
    assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)), abs=1e-6, rel=1e-9)
    assert median(values) == pytest.approx(statistics.median(values), abs=1e-6)
    summary = summarise(values)
    assert summary.smallest <= summary.median <= summary.largest
    if len(values) > 1:
        assert sd(values) == pytest.approx(statistics.stdev(values), abs=1e-6)
