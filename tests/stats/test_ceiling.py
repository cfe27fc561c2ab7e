import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.stats.ceiling import ceiling

SPARK = 273e9


def test_the_limit_is_bandwidth_over_bytes_times_the_accepted_length() -> None:
    limit = ceiling(SPARK, 1.7e9, 2.5)
    assert limit is not None
    assert limit.tok_s == pytest.approx(273 / 1.7 * 2.5)
    assert limit.share(limit.tok_s / 2) == pytest.approx(0.5)
    assert "273 GB/s" in limit.inputs
    assert "2.50 tokens a step" in limit.inputs


def test_a_figure_above_the_limit_is_doubted_with_the_numbers() -> None:
    limit = ceiling(SPARK, 2.73e9)
    assert limit is not None
    assert limit.doubt(99.0) == ""
    assert "120.0 tok/s is 120% of what the memory can do (100.0 tok/s" in limit.doubt(120.0)


@pytest.mark.parametrize("inputs", [(0, 1e9, 1), (SPARK, 0, 1), (SPARK, -1, 1), (SPARK, math.nan, 1), (math.inf, 1, 1)])
def test_inputs_that_are_nonsense_give_no_limit(inputs: tuple[float, float, float]) -> None:
    assert ceiling(*inputs) is None


@given(st.floats(1e9, 1e13), st.floats(1e6, 1e12), st.floats(1, 20))
def test_speculation_only_ever_raises_the_limit(bandwidth: float, active: float, length: float) -> None:
    plain, speculating = ceiling(bandwidth, active), ceiling(bandwidth, active, length)
    assert plain is not None
    assert speculating is not None
    assert speculating.tok_s >= plain.tok_s
