import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pitstop.rulers.sizes import Point, next_pieces, truncated, within


def sizing(target, count, template, most=5):
    """Requests until the size is met, against a tokenizer that makes `count(pieces)` tokens of a text."""
    points = [Point(2, template + 3)]  # the run's hello
    for _ in range(most):
        tried = next_pieces(points, target)
        points.append(Point(tried, template + count(tried)))
        if within(points[-1].tokens, target):
            return points[1:]
    raise AssertionError(f"not met: {points}")


@given(
    target=st.integers(300, 120_000),
    tok_per_piece=st.floats(0.5, 4.0),
    template=st.integers(0, 200),
    drift=st.floats(-0.02, 0.02),
)
def test_a_size_is_met_with_few_requests_of_any_tokenizer(target, tok_per_piece, template, drift):
    def count(pieces):
        return round(pieces * tok_per_piece * (1 + drift * pieces / 25_000))

    assert len(sizing(target, count, template)) <= (3 if target <= 32_000 and tok_per_piece >= 0.7 else 4)


@given(target=st.integers(60, 600), seed=st.integers(0, 10_000), tok_per_piece=st.floats(0.8, 1.3))
def test_a_small_size_is_met_however_unevenly_the_words_split(target, seed, tok_per_piece):
    """A piece is one token or two, drawn: as words of a text are, and the same ones each time."""
    drawn = random.Random(seed)
    costs = [1 + (drawn.random() < abs(tok_per_piece - 1)) if tok_per_piece >= 1 else
             int(drawn.random() < tok_per_piece) for _ in range(2000)]  # fmt: skip
    assert len(sizing(target, lambda pieces: sum(costs[:pieces]), 30)) <= 4


def test_what_was_learnt_at_one_size_serves_the_next():
    points = sizing(8000, lambda pieces: round(0.92 * pieces), 40)
    assert within(40 + round(0.92 * next_pieces(points, 30000)), 30000)


def test_the_hello_tells_what_the_template_takes():
    assert next_pieces([Point(2, 32)], 256) == 256 - 30


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_within_means_two_percent_or_four_tokens(target, tokens):
    assert within(tokens, target) == (abs(tokens - target) <= max(0.02 * target, 4))


@given(st.lists(st.builds(Point, st.integers(0, 10**6), st.integers(0, 10**6)), max_size=5), st.integers(1, 10**6))
def test_no_counts_however_mad_break_the_next_step(points, target):
    assert next_pieces(points, target) >= 0


def test_a_server_that_cuts_prompts_is_found_out():
    assert truncated([Point(500, 500)], Point(8000, 4096))
    assert not truncated([Point(500, 500)], Point(8000, 7700))


def test_a_template_that_outweighs_the_text_is_not_taken_for_a_cut_prompt():
    assert not truncated([Point(10, 60)], Point(8000, 8000))


@pytest.mark.parametrize("tok_per_piece", [0.6, 1.0, 3.0])
def test_denser_or_thinner_natural_text_is_not_taken_for_a_cut_prompt(tok_per_piece):
    base = Point(500, 30 + round(500 * tok_per_piece))
    assert not truncated([base], Point(25_000, round(25_000 * tok_per_piece * 0.95)))


@given(st.integers(1, 100))
def test_one_point_of_nothing_does_not_divide_by_zero(target):
    assume(target)
    assert next_pieces([Point(0, 0)], target) >= 0
