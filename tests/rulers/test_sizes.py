import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pitstop.rulers.sizes import Point, next_chars, truncated, within


def sizing(target, chars_per_tok, template, curvature=0.0, most=6):
    """Requests until the size is met, against a tokenizer whose density drifts by `curvature` in 100,000 chars."""
    points = [Point(3, template + 1)]  # the run's hello
    for _ in range(most):
        chars = next_chars(points, target)
        tokens = template + round(chars / (chars_per_tok * (1 + curvature * chars / 100_000)))
        points.append(Point(chars, tokens))
        if within(tokens, target):
            return points[1:]
    raise AssertionError(f"not met: {points}")


@given(
    target=st.integers(500, 120_000),
    chars_per_tok=st.floats(1.0, 6.0),
    template=st.integers(0, 200),
    curvature=st.floats(-0.02, 0.02),
)
def test_a_size_is_met_with_three_requests_of_any_tokenizer(target, chars_per_tok, template, curvature):
    assert len(sizing(target, chars_per_tok, template, curvature)) <= 3


def test_what_was_learnt_at_one_size_serves_the_next():
    points = sizing(8000, 4.4, 40)
    chars = next_chars(points, 30000)
    assert within(40 + round(chars / 4.4), 30000)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_within_means_two_percent(target, tokens):
    assert within(tokens, target) == (abs(tokens / target - 1) <= 0.02 or tokens == target)


@given(st.lists(st.builds(Point, st.integers(0, 10**6), st.integers(0, 10**6)), max_size=5), st.integers(1, 10**6))
def test_no_counts_however_mad_break_the_next_step(points, target):
    assert next_chars(points, target) >= 0


def test_a_server_that_cuts_prompts_is_found_out():
    assert truncated([Point(2000, 500)], Point(32000, 4096))
    assert not truncated([Point(2000, 500)], Point(32000, 7700))


def test_a_template_that_outweighs_the_text_is_not_taken_for_a_cut_prompt():
    assert not truncated([Point(40, 60)], Point(32000, 8000))


@pytest.mark.parametrize("chars_per_tok", [1.0, 3.0, 6.0])
def test_denser_or_thinner_natural_text_is_not_taken_for_a_cut_prompt(chars_per_tok):
    base = Point(2000, 30 + round(2000 / chars_per_tok))
    assert not truncated([base], Point(100_000, round(100_000 / chars_per_tok * 0.95)))


@given(st.integers(1, 100))
def test_one_point_of_nothing_does_not_divide_by_zero(target):
    assume(target)
    assert next_chars([Point(0, 0)], target) >= 0
