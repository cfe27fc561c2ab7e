import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.stats.knee import find_knee

sweeps = st.dictionaries(st.integers(1, 512), st.floats(0.1, 1e5), min_size=2, max_size=10).map(dict.items).map(list)


def test_the_knee_is_the_last_level_that_paid():
    knee = find_knee([(1, 80.0), (4, 200.0), (8, 330.0), (16, 360.0), (32, 370.0)])
    assert (knee.concurrency, knee.peak_concurrency, knee.reached) == (8, 32, True)


def test_ideal_scaling_has_no_knee_within_the_sweep():
    knee = find_knee([(n, 80.0 * n) for n in (1, 2, 4, 8)])
    assert (knee.concurrency, knee.reached) == (8, False)


def test_a_single_dip_does_not_end_the_sweep():
    assert find_knee([(1, 80.0), (4, 240.0), (8, 230.0), (16, 600.0), (32, 610.0)]).concurrency == 16


def test_a_server_that_only_gets_slower_has_its_knee_at_the_start():
    assert find_knee([(1, 80.0), (8, 60.0), (16, 40.0)]).concurrency == 1


@pytest.mark.parametrize("sweep", [[], [(8, 300.0)]])
def test_one_level_is_no_sweep(sweep):
    assert find_knee(sweep) is None


@pytest.mark.parametrize("bad", [(0, 80.0), (8, 0.0), (8, math.nan), (8, math.inf), (1, 90.0)])
def test_an_impossible_point_is_refused(bad):
    with pytest.raises(ValueError, match=r"sweep|twice"):
        find_knee([(1, 80.0), bad])


@given(sweeps, st.randoms())
def test_the_order_and_the_unit_of_a_sweep_do_not_matter(sweep, random):
    knee = find_knee(sweep)
    shuffled = [(streams, throughput * 4) for streams, throughput in sweep]
    random.shuffle(shuffled)
    assert find_knee(shuffled).concurrency == knee.concurrency
    assert knee.throughput <= knee.peak_throughput
