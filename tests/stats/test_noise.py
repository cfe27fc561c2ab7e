import math
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.stats.noise import LARGEST_DF, NoisePrior, from_boots, from_pairs, pooled

figures = st.floats(min_value=0.01, max_value=1e6)


def test_pairs_of_the_same_engine_are_measured_about_a_ratio_of_one():
    """+2 % and +2 % agree with each other, and are both wrong: that is noise too."""
    prior = from_pairs([(100.0, 102.0), (100.0, 102.0)])
    assert astuple(prior) == (pytest.approx(math.log(1.02)), 2, "2 A/A pairs")


def test_boots_are_pooled_within_configurations_and_doubled_for_a_ratio():
    """Logs 0 and 0.02 twice over: s² = 0.0002 in each group, so 0.0004 for a ratio of two boots."""
    group = [1.0, math.exp(0.02)]
    prior = from_boots([group, [5 * x for x in group], [77.0]])
    assert astuple(prior) == (pytest.approx(0.02), 2, "4 boots of 2 configurations")


def test_what_was_changed_on_purpose_is_no_noise():
    assert from_boots([[80.0, 80.0], [160.0, 160.0]]).sd == 0


@pytest.mark.parametrize("groups", [[], [[80.0]], [[80.0], [81.0]], [[]]])
def test_without_a_second_boot_nothing_is_known(groups):
    assert from_boots(groups) is None


def test_without_pairs_nothing_is_known():
    assert from_pairs([]) is None
    assert pooled([None, None]) is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_figure_without_a_logarithm_is_refused(bad):
    with pytest.raises(ValueError, match="above zero"):
        from_pairs([(80.0, bad)])
    with pytest.raises(ValueError, match="above zero"):
        from_boots([[80.0, bad]])


@pytest.mark.parametrize(("sd", "df"), [(-0.1, 3), (math.nan, 3), (0.1, 0), (0.1, 0.5), (0.1, math.inf)])
def test_an_impossible_prior_is_refused(sd, df):
    with pytest.raises(ValueError, match="noise prior"):
        NoisePrior(sd, df)


def test_configurations_that_disagree_about_the_noise_weigh_less():
    calm = [[math.exp(x) for x in (0, 0.001, 0.002, 0.0)] for _ in range(4)]
    wild = [[math.exp(x) for x in (0, 0.2, -0.2, 0.1)] for _ in range(4)]
    assert from_boots(calm + wild).df < 3 < from_boots(calm * 2).df


def test_sources_are_weighted_by_their_degrees_of_freedom():
    prior = pooled([NoisePrior(0.01, 3, "a"), None, NoisePrior(0.03, 9, "b")])
    assert astuple(prior) == (pytest.approx(math.sqrt((3 * 0.0001 + 9 * 0.0009) / 12)), 12, "a and b")


@given(st.lists(st.lists(figures, min_size=1, max_size=6), max_size=8), st.floats(0.01, 100))
def test_noise_does_not_depend_on_the_unit_and_never_outweighs_a_trial(groups, scale):
    one, other = from_boots(groups), from_boots([[scale * x for x in group] for group in groups])
    if one is None:
        assert other is None
        return
    assert other.sd == pytest.approx(one.sd, abs=1e-6)
    assert 1 <= one.df <= LARGEST_DF
