import math
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2, poisson

from pitstop.stats.rates import (
    FixState,
    Window,
    assess,
    clean_exposure_needed,
    compare_rates,
    quiet_chance,
    rate_bounds,
)

windows = st.builds(Window, st.integers(0, 50), st.floats(0.1, 1e4))


def test_the_second_report_two_crashes_in_72_days_then_72_clean_ones():
    fix = assess(Window(2, 72.0), Window(0, 72.0))
    assert fix.rule == 72
    assert date(2026, 9, 27) + timedelta(days=fix.rule) == date(2026, 12, 8)
    assert fix.chance == pytest.approx(0.25)
    assert fix.chance_if_rate_known == pytest.approx(math.exp(-2))
    assert fix.needed == pytest.approx(72 * (math.sqrt(20) - 1))
    assert fix.state is FixState.PROMISING


def test_the_second_report_five_crashes_in_six_days():
    assert assess(Window(5, 6.0), Window(0, 2.3)).state is FixState.OPEN
    assert assess(Window(5, 6.0), Window(0, 2.5)).state is FixState.PROMISING
    assert assess(Window(5, 6.0), Window(0, 4.93)).state is FixState.SUPPORTED


def test_the_first_reports_four_days_are_not_enough():
    """Eight hangs and one crash in three weeks; four quiet days happen one time in five without any fix."""
    fix = assess(Window(9, 21.0), Window(0, 4.0))
    assert fix.state is FixState.OPEN
    assert fix.chance == pytest.approx((21 / 25) ** 9)
    assert fix.more_needed == pytest.approx(21 * (20 ** (1 / 9) - 1) - 4)


def test_one_more_crash_reopens_whatever_was_thought():
    fix = assess(Window(9, 21.0), Window(1, 400.0))
    assert fix.state is FixState.REOPENED
    assert fix.more_needed is None
    assert fix.more_for_rule is None


def test_nothing_is_fixed_that_never_broke():
    fix = assess(Window(0, 72.0), Window(0, 900.0))
    assert (fix.state, fix.chance, fix.needed, fix.rule) == (FixState.OPEN, None, None, None)


@pytest.mark.parametrize(("events", "exposure"), [(-1, 3.0), (1, 0.0), (0, -1.0), (0, math.nan), (2, math.inf)])
def test_an_impossible_window_is_refused(events, exposure):
    with pytest.raises(ValueError, match="events"):
        Window(events, exposure)


def test_no_time_yet_knows_nothing():
    fix = assess(Window(2, 72.0), Window(0, 0.0))
    assert (fix.state, fix.chance, fix.rate_after) == (FixState.OPEN, 1.0, (0.0, math.inf))


def test_no_event_bounds_the_rate_by_the_rule_of_three():
    """Garwood's one-sided 95 % bound of nothing is -ln(0.05) = 2.996, two-sided 3.689."""
    assert rate_bounds(Window(0, 100.0)) == (0.0, pytest.approx(0.03689, abs=1e-5))


@given(windows)
def test_bounds_are_the_exact_poisson_ones(window):
    low, high = rate_bounds(window)
    k = window.events
    assert low * window.exposure == pytest.approx(chi2.ppf(0.025, 2 * k) / 2 if k else 0, rel=1e-6)
    assert high * window.exposure == pytest.approx(chi2.ppf(0.975, 2 * k + 2) / 2, rel=1e-6)
    assert poisson.cdf(k, high * window.exposure) == pytest.approx(0.025, rel=1e-6)


@given(windows, windows)
def test_the_comparison_is_the_binomial_one_and_agrees_with_its_interval(first, second):
    if first.events + second.events == 0:
        assert compare_rates(first, second).p_value == 1
        return
    found = compare_rates(first, second)
    n, share = first.events + second.events, second.exposure / (first.exposure + second.exposure)
    tails = [binomtest(second.events, n, share, alternative=side).pvalue for side in ("less", "greater")]
    assert found.p_value == pytest.approx(min(1, 2 * min(tails)), abs=1e-9)
    low, high = found.interval
    if abs(found.p_value - 0.05) > 1e-6:
        assert (found.p_value < 0.05) == (not low <= 1 <= high)
    if found.ratio is not None:
        assert low <= found.ratio <= high


@given(st.integers(1, 40), st.floats(0.1, 1000), st.floats(0.5, 0.999))
def test_the_clean_time_that_is_asked_for_gives_the_chance_that_is_asked_for(events, exposure, confidence):
    needed = clean_exposure_needed(Window(events, exposure), confidence=confidence)
    assert quiet_chance(Window(events, exposure), Window(0, needed)) == pytest.approx(1 - confidence, rel=1e-6)


@given(windows, st.floats(0, 1e4), st.floats(0, 1e4))
def test_more_quiet_never_weakens_a_fix(before, clean, further):
    order = [FixState.OPEN, FixState.PROMISING, FixState.SUPPORTED]
    sooner, later = assess(before, Window(0, clean)), assess(before, Window(0, clean + further))
    assert order.index(later.state) >= order.index(sooner.state)


def test_a_comparison_needs_time_on_both_sides():
    with pytest.raises(ValueError, match="both sides"):
        compare_rates(Window(2, 72.0), Window(0, 0.0))
