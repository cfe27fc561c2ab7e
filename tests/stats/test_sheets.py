"""Marks of two arms, paired task by task; copies are no evidence."""

import random
from statistics import variance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.stats.proportions import TaskPair
from pitstop.stats.sheets import Sheet, flips_from_noise, flips_seen, pairs, repeated_interval, tally


def test_the_marks_of_several_boots_are_added_by_task():
    one = Sheet({"a": [1, 0], "b": [1, None]}, ["r1", "r2"])
    two = Sheet({"a": [1], "c": [0]}, ["r3"])
    assert dict(tally([one, two]).tasks) == {"a": (2, 3), "b": (1, 1), "c": (0, 1)}


def test_repeats_that_say_word_by_word_the_same_are_one_draw():
    sheet = Sheet({"a": [1, 1, 0]}, ["same", "same", "other"])
    found = tally([sheet, Sheet({"a": [1]}, ["same"])])
    assert (dict(found.tasks), found.copies) == ({"a": (1, 2)}, 2)


def test_runs_without_digests_are_all_counted():
    assert dict(tally([Sheet({"a": [1]}), Sheet({"a": [1]})]).tasks) == {"a": (2, 2)}


def test_only_tasks_of_both_arms_are_paired():
    production, variant = tally([Sheet({"a": [1], "b": [0]})]), tally([Sheet({"b": [1, 1], "c": [1]})])
    assert pairs(production, variant) == [TaskPair(0, 1, 2, 2)]


marks = st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from([0, 1, None]), max_size=4), max_size=4)


@given(st.lists(marks, max_size=4))
def test_no_task_has_more_right_than_attempts(sheets):
    found = tally([Sheet(one) for one in sheets])
    assert all(0 <= right <= of for right, of in found.tasks.values())
    assert found.share is None or 0 <= found.share <= 1


def test_repeats_narrow_the_interval_on_these_tasks_and_one_pass_has_none():
    """Coverage by simulation: of 400 pairs of arms without a difference, the interval holds zero in 93 % or more."""
    draw = random.Random(2)
    chances = [draw.choice([0.05, 0.5, 0.8, 0.95]) for _ in range(28)]

    def pair(p, runs):
        return TaskPair(*(x for _ in "ab" for x in (sum(draw.random() < p for _ in range(runs)), runs)))

    assert repeated_interval([pair(p, 1) for p in chances]) is None
    widths = []
    for runs in (2, 8):
        found = [repeated_interval([pair(p, runs) for p in chances]) for _ in range(400)]
        assert sum(low <= 0 <= high for low, high in found) >= 0.93 * 400
        widths.append(sum(high - low for low, high in found))
    assert widths[1] < 0.7 * widths[0]


def test_flips_come_from_repeats_and_are_unknown_without():
    assert flips_seen(tally([Sheet({"a": [1], "b": [0]})])) is None
    assert flips_seen(tally([Sheet({"a": [1, 1], "b": [1, 0]})])) == pytest.approx(0.25)


@pytest.mark.parametrize("repeats", [1, 4])
def test_the_spread_of_scores_gives_back_the_flips_that_made_it(repeats):
    """28 tasks of which each turns with a chance of its own, scored twice, four thousand times; repeats even it out."""
    draw = random.Random(1)
    chances = [draw.choice([0.98, 0.9, 0.7, 0.5]) for _ in range(28)] * repeats
    n = len(chances)
    share, flips = sum(chances) / n, sum(p * (1 - p) for p in chances) / n
    differences = [
        (sum(draw.random() < p for p in chances) - sum(draw.random() < p for p in chances)) / n for _ in range(4_000)
    ]
    sd = variance(differences) ** 0.5 / share
    assert flips_from_noise(sd, share, n) == pytest.approx(flips, rel=0.1)
