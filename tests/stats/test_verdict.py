import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.documents import Verdict
from pitstop.stats.noise import NoisePrior
from pitstop.stats.verdict import RESOLUTION, Judgement, judge

figures = st.floats(min_value=0.01, max_value=1e6)
blocks_of = st.lists(st.tuples(figures, figures), min_size=1, max_size=8)
priors = st.none() | st.builds(NoisePrior, st.floats(0, 0.5), st.floats(1, 30))
DECIDED = {Verdict.BETTER, Verdict.WORSE}


def faster(blocks, noise=None, effect=0.03, **more) -> Judgement:
    return judge(blocks, minimum_effect=effect, higher_is_better=True, noise=noise, **more)


def test_the_example_of_the_page_verdicts_comes_out_as_worked_by_hand():
    """docs/verdicts.md: undecided by its own two blocks, better with what eight A/A pairs know of the box."""
    blocks = [(78.4, 82.9), (79.6, 83.4)]
    alone, known = faster(blocks), faster(blocks, NoisePrior(0.012, 8))
    assert alone.verdict is Verdict.UNDECIDED
    assert alone.interval == pytest.approx((1 - 0.007, 1 + 0.116), abs=5e-4)
    assert known.verdict is Verdict.BETTER
    assert known.ratio == pytest.approx(1.0526, abs=5e-5)
    assert known.interval == pytest.approx((1 + 0.033, 1 + 0.072), abs=5e-4)
    assert known.noise_floor == pytest.approx(0.012, abs=5e-4)


def test_the_variance_is_moderated_as_the_design_says():
    """s² = (d0·s0² + d·s²)/(d0 + d) with d0 + d degrees of freedom: t(0.975, 11) = 2.200985."""
    logs, s0, d0 = [0.02, 0.05], 0.03, 10
    judgement = faster([(1.0, math.exp(x)) for x in logs], NoisePrior(s0, d0))
    s = math.sqrt((d0 * s0**2 + 1 * 0.00045) / 11)
    half = 2.200985 * s / math.sqrt(2)
    assert judgement.interval == pytest.approx((math.exp(0.035 - half), math.exp(0.035 + half)), rel=1e-6)
    assert judgement.noise_floor == pytest.approx(math.expm1(s))


def test_one_block_without_known_noise_is_undecided_however_large_the_gain():
    judgement = faster([(80.0, 160.0)])
    assert (judgement.verdict, judgement.ratio, judgement.interval) == (Verdict.UNDECIDED, 2.0, None)
    assert judgement.noise_floor is None
    assert "A/A" in judgement.reason


def test_one_block_is_judged_by_the_noise_that_the_ledger_knows():
    judgement = faster([(80.0, 95.0)], NoisePrior(0.02, 10, "6 A/A pairs"))
    assert judgement.verdict is Verdict.BETTER
    assert "6 A/A pairs" in judgement.reason


@pytest.mark.parametrize("ratio", [1.0, 1.001, 1.02])
def test_two_blocks_alike_to_the_last_digit_are_no_certainty(ratio):
    judgement = faster([(80.0, 80.0 * ratio)] * 2)
    assert judgement.verdict is Verdict.UNDECIDED
    low, high = judgement.interval
    assert high / low > 1.05


def test_many_identical_blocks_are_equivalent():
    assert faster([(80.0, 80.0)] * 6).verdict is Verdict.EQUIVALENT


def test_a_known_noise_of_zero_is_not_believed_below_the_resolution():
    judgement = faster([(80.0, 80.4)], NoisePrior(0.0, 30))
    assert judgement.noise_floor == pytest.approx(math.expm1(RESOLUTION))


@pytest.mark.parametrize(
    ("bad", "word"),
    [(0.0, "0"), (-1.0, "-1"), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")],
)
@pytest.mark.parametrize("side", ["production", "the variant"])
def test_a_figure_without_a_ratio_is_refused_by_block_and_arm(bad, word, side):
    block = (bad, 80.0) if side == "production" else (80.0, bad)
    judgement = faster([(80.0, 81.0), block, (80.0, 82.0)], NoisePrior(0.01, 10))
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.reason.startswith(f"block 2: {side} has {word},")
    assert judgement.ratio is None


def test_nothing_measured_is_undecided():
    assert faster([]).verdict is Verdict.UNDECIDED


def test_a_slower_first_token_is_worse_and_its_ratio_is_still_variant_over_production():
    judgement = judge([(0.2, 0.3), (0.21, 0.31), (0.2, 0.305)], minimum_effect=0.03, higher_is_better=False)
    assert judgement.verdict is Verdict.WORSE
    assert judgement.ratio == pytest.approx(1.5, abs=0.02)


@pytest.mark.parametrize(
    "settings", [{"effect": -0.01}, {"effect": math.nan}, {"confidence": 1.0}, {"resolution": 0.0}]
)
def test_impossible_settings_are_errors_of_the_caller(settings):
    with pytest.raises(ValueError, match="not"):
        faster([(1.0, 1.0)], **settings)


def test_a_variant_that_never_gave_a_figure_is_worse():
    judgement = faster([(80.0, None), (81.0, None)])
    assert judgement.verdict is Verdict.WORSE
    assert "2 of the variant" in judgement.reason


def test_one_boot_that_failed_decides_nothing_alone():
    assert faster([(80.0, None)]).verdict is Verdict.UNDECIDED


def test_one_pair_that_is_left_tells_of_the_boots_that_failed():
    judgement = faster([(80.0, 95.0), (80.0, None)])
    assert judgement.verdict is Verdict.UNDECIDED
    assert "1 of the variant" in judgement.reason


def test_survivors_do_not_speak_for_an_arm_that_failed_more_often():
    blocks = [(80.0, 100.0), (80.0, 100.5), (80.0, 99.0), (80.0, None)]
    judgement = faster(blocks)
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.ratio > 1.2
    assert "1 of the variant" in judgement.reason


def test_a_slower_arm_that_also_failed_is_still_worse():
    assert faster([(80.0, 60.0), (80.0, 61.0), (80.0, 60.5), (80.0, None)]).verdict is Verdict.WORSE


def test_failures_that_both_arms_share_hold_nothing_back():
    blocks = [(80.0, 100.0), (80.0, 100.5), (80.0, 99.0), (None, 99.0), (80.0, None)]
    assert faster(blocks).verdict is Verdict.BETTER


def test_a_box_that_has_become_noisier_overrules_the_ledger():
    blocks = [(80.0, 60.0), (80.0, 110.0), (80.0, 95.0)]
    judgement = faster(blocks, NoisePrior(0.005, 30))
    assert judgement.verdict is Verdict.UNDECIDED
    assert "set aside" in judgement.reason
    assert judgement.interval == faster(blocks).interval


def test_undecided_says_how_many_more_blocks_would_decide():
    judgement = faster([(80.0, 84.0), (80.0, 80.0)], NoisePrior(0.03, 20))
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.blocks_to_decide in range(1, 20)
    assert f"about {judgement.blocks_to_decide} more" in judgement.reason


def test_a_hopeless_comparison_promises_no_number_of_blocks():
    judgement = faster([(80.0, 81.0), (80.0, 400.0), (400.0, 80.0)], effect=0.0001)
    assert judgement.blocks_to_decide is None or judgement.blocks_to_decide > 20


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_figures_of_any_size_are_compared(scale):
    assert faster([(1.0 * scale, 1.1 * scale)] * 3).verdict is Verdict.BETTER


def test_figures_at_both_ends_of_the_floats_do_not_overflow():
    judgement = faster([(5e-324, 1.7e308), (1.7e308, 5e-324)])
    assert judgement.verdict is Verdict.UNDECIDED
    assert all(math.isfinite(bound) for bound in judgement.interval)


@given(blocks_of, priors, st.floats(0, 0.2))
def test_swapping_the_arms_mirrors_the_verdict(blocks, noise, effect):
    one = faster(blocks, noise, effect)
    other = faster([(variant, base) for base, variant in blocks], noise, effect)
    mirrored = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    assert other.verdict is mirrored.get(one.verdict, one.verdict)
    assert one.ratio * other.ratio == pytest.approx(1)


@given(blocks_of, priors, st.floats(1e-3, 1e3))
def test_the_unit_of_a_figure_does_not_matter(blocks, noise, scale):
    one, other = faster(blocks, noise), faster([(a * scale, b * scale) for a, b in blocks], noise)
    assert other.ratio == pytest.approx(one.ratio)
    if one.interval is not None:
        assert other.interval == pytest.approx(one.interval, rel=1e-6)


@given(blocks_of, priors, st.floats(0.001, 0.2))
def test_every_verdict_follows_from_its_interval(blocks, noise, effect):
    judgement = faster(blocks, noise, effect)
    if judgement.interval is None:
        assert judgement.verdict is Verdict.UNDECIDED
        return
    low, high = judgement.interval
    assert low <= judgement.ratio <= high
    within = 1 / (1 + effect) <= low and high <= 1 + effect
    expected = (
        Verdict.EQUIVALENT
        if within
        else Verdict.UNDECIDED
        if low <= 1 <= high
        else Verdict.BETTER
        if low > 1
        else Verdict.WORSE
    )
    assert judgement.verdict is expected
    assert (judgement.p_value < 0.05) == (not low <= 1 <= high) or judgement.p_value == pytest.approx(0.05)


@given(blocks_of, priors)
def test_failed_boots_never_turn_a_verdict_in_favour_of_who_failed(blocks, noise):
    judgement = faster([*blocks, (80.0, None)], noise)
    assert judgement.verdict in {Verdict.WORSE, Verdict.UNDECIDED}
