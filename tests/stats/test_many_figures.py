import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.core.documents import Verdict
from pitstop.stats.holm import adjust, corrected
from pitstop.stats.noise import NoisePrior
from pitstop.stats.power import blocks_for, power, smallest_effect
from pitstop.stats.sequential import Plan, look
from pitstop.stats.verdict import judge

p_values = st.lists(st.none() | st.floats(0, 1), max_size=12)


def test_holms_own_steps():
    """0.01·4, then 0.02·3 = 0.06, then max(0.06, 0.03·2), then max(0.06, 0.04·1)."""
    assert adjust([0.03, 0.01, None, 0.04, 0.02]) == pytest.approx([0.06, 0.04, None, 0.06, 0.06])


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_what_is_no_p_value_is_refused(bad):
    with pytest.raises(ValueError, match="p-value"):
        adjust([0.5, bad])


@given(p_values)
def test_adjusting_keeps_the_order_and_never_lowers_a_p_value(values):
    adjusted = adjust(values)
    known = [(p, q) for p, q in zip(values, adjusted, strict=True) if p is not None]
    assert all(p <= q <= 1 for p, q in known)
    assert [q is None for q in adjusted] == [p is None for p in values]
    assert [q for _, q in sorted(known)] == sorted(q for _, q in known)


def test_a_primary_figure_stands_alone_and_the_rest_are_corrected():
    noise = NoisePrior(0.02, 20)
    barely = judge([(80.0, 84.0)], minimum_effect=0.03, higher_is_better=True, noise=noise)
    nothing = judge([(80.0, 80.4)], minimum_effect=0.001, higher_is_better=True, noise=noise)
    assert barely.verdict is Verdict.BETTER
    primary, secondary, *rest = corrected([(True, barely), (False, barely), (False, nothing), (False, nothing)])
    assert primary == barely
    assert secondary.verdict is Verdict.UNDECIDED
    assert "one of many figures" in secondary.reason
    assert secondary.p_value == pytest.approx(3 * barely.p_value)
    assert {judgement.verdict for judgement in rest} == {Verdict.UNDECIDED}


def test_boots_that_failed_need_no_p_value():
    failed = judge([(80.0, None), (80.0, None)], minimum_effect=0.03, higher_is_better=True)
    assert corrected([(False, failed)]) == [failed]


def test_power_grows_with_the_effect_the_blocks_and_what_is_known():
    assert power(0.0, blocks=4, sd=0.02) == pytest.approx(0.05, abs=1e-6)
    assert power(0.04, blocks=3, sd=0.02) < power(0.06, blocks=3, sd=0.02) < power(0.06, blocks=4, sd=0.02)
    assert power(0.06, blocks=2, sd=0.02) < power(0.06, blocks=2, sd=0.02, prior_df=10)
    assert power(0.06, blocks=1, sd=0.02) == 0
    assert power(5.0, blocks=8, sd=0.001) == pytest.approx(1)


@pytest.mark.parametrize(("sd", "confidence"), [(0.0, 0.95), (math.nan, 0.95), (0.02, 1.0)])
def test_power_refuses_what_cannot_be(sd, confidence):
    with pytest.raises(ValueError, match="not"):
        power(0.05, blocks=2, sd=sd, confidence=confidence)


@settings(max_examples=25)  # each looks for the number of blocks twice, over integrals
@given(st.floats(0.005, 0.2), st.floats(0.005, 0.1), st.floats(0, 30))
def test_the_blocks_that_are_asked_for_are_the_fewest_that_do(effect, sd, prior_df):
    needed = blocks_for(effect, sd=sd, prior_df=prior_df)
    if needed is None:
        return
    assert power(effect, blocks=needed, sd=sd, prior_df=prior_df) >= 0.8
    assert needed == 1 or power(effect, blocks=needed - 1, sd=sd, prior_df=prior_df) < 0.8


def test_the_smallest_effect_is_the_one_with_that_power():
    noise = NoisePrior(0.02, 10)
    smallest = smallest_effect(2, noise)
    assert power(math.log1p(smallest), blocks=2, sd=0.02, prior_df=10) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("looks", [(), (2, 1), (1, 1, 2), (0, 2), (1, 3)])
def test_a_plan_that_does_not_rise_to_its_last_block_is_refused(looks):
    with pytest.raises(ValueError, match="looks rise"):
        Plan(2, looks)


def test_a_plan_looks_only_where_it_said_it_would():
    plan = Plan.halfway(4)
    assert plan.looks == (2, 4)
    blocks = [(80.0, 40.0)]
    assert look(blocks, plan, minimum_effect=0.03, higher_is_better=True, noise=NoisePrior(0.02, 10)) is None


def test_an_effect_that_the_rest_of_the_trial_could_not_settle_is_futile():
    """One percent more, known to 3 %, and a minimum effect of a thousandth: four blocks would settle nothing."""
    noise = NoisePrior(0.2, 30)
    seen = look([(80.0, 80.8), (80.0, 79.9)], Plan.halfway(4), minimum_effect=0.001, higher_is_better=True, noise=noise)
    assert not seen.stop or "futile" in seen.why
    certain = look([(80.0, 80.0)] * 9, Plan(10, (9, 10)), minimum_effect=0.001, higher_is_better=True, noise=noise)
    assert certain.stop
    assert certain.why.startswith("futile")


def test_the_last_look_always_stops():
    noise = NoisePrior(0.02, 10)
    seen = look([(80.0, 80.5)] * 2, Plan.halfway(2), minimum_effect=0.01, higher_is_better=True, noise=noise)
    assert seen.stop
    assert seen.judgement.verdict is Verdict.UNDECIDED
