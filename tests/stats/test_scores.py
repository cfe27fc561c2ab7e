import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from pitstop.core.documents import Verdict
from pitstop.stats.proportions import TaskPair, exact_test, flakiness, mcnemar, pass_at_k, wilson
from pitstop.stats.scores import (
    difference_interval,
    judge_scores,
    mcnemar_power,
    smallest_difference,
    tasks_needed,
)
from pitstop.stats.sheets import attempts, repeated_interval


def table(both: int, lost: int, won: int, neither: int) -> list[TaskPair]:
    """Tasks asked once: right in both arms, only in production, only in the variant, in neither."""
    cells = [(1, 1, both), (1, 0, lost), (0, 1, won), (0, 0, neither)]
    return [TaskPair(a, 1, b, 1) for a, b, count in cells for _ in range(count)]


@st.composite
def repeated_tasks(draw):
    runs = st.integers(1, 3)
    tasks = []
    for _ in range(draw(st.integers(1, 4))):
        m, n = draw(runs), draw(runs)
        tasks.append(TaskPair(draw(st.integers(0, m)), m, draw(st.integers(0, n)), n))
    return tasks


@pytest.mark.parametrize("lost", range(4))
def test_25_against_22_of_28_is_undecided_however_the_tasks_overlap(lost):
    judgement = judge_scores(table(22 - lost, lost, lost + 3, 28 - 25 - lost), minimum_effect=0.03)
    assert judgement.verdict is Verdict.UNDECIDED
    assert "25 against 22 of 28" in judgement.reason
    assert "28 tasks show only differences from" in judgement.reason
    assert judgement.tasks_to_decide > 60


@pytest.mark.parametrize("won", range(3))
def test_23_after_26_of_28_is_undecided_too(won):
    judgement = judge_scores(table(23 - won, won + 3, won, 28 - 26 - won), minimum_effect=0.03)
    assert judgement.verdict is Verdict.UNDECIDED


def test_a_broken_engine_is_worse():
    judgement = judge_scores(table(10, 14, 1, 3), minimum_effect=0.03)
    assert judgement.verdict is Verdict.WORSE
    assert judgement.interval[1] < 0
    assert "p < 0.01" in judgement.reason


def test_the_same_answers_on_28_tasks_do_not_prove_equivalence_within_three_points():
    assert judge_scores(table(25, 0, 0, 3), minimum_effect=0.03).verdict is Verdict.UNDECIDED
    assert judge_scores(table(250, 0, 0, 30), minimum_effect=0.03).verdict is Verdict.EQUIVALENT


def test_without_tasks_nothing_is_decided():
    assert judge_scores([], minimum_effect=0.03).verdict is Verdict.UNDECIDED


def test_28_tasks_show_at_best_a_difference_of_eight():
    """Six of six discordant tasks are the fewest with p < 0.05 (2/64); 80 % power to see six needs 0.268 of them."""
    smallest = smallest_difference(28)
    assert smallest == pytest.approx(0.2677, abs=1e-3)
    power = sum(math.comb(28, k) * smallest**k * (1 - smallest) ** (28 - k) for k in range(6, 29))
    assert power == pytest.approx(0.8, abs=1e-5)
    assert smallest_difference(28, flips=0.05) > smallest


@pytest.mark.parametrize("n", [0, 1, 5])
def test_so_few_tasks_show_no_difference_at_all(n):
    assert smallest_difference(n) is None


@pytest.mark.parametrize(("difference", "flips"), [(0.1, 0.05), (0.05, 0.02), (0.3, 0.0)])
def test_the_tasks_that_are_asked_for_have_about_the_power_that_is_asked_for(difference, flips):
    needed = tasks_needed(difference, flips=flips)
    assert mcnemar_power(needed, difference, flips=flips) == pytest.approx(0.8, abs=0.06)


def test_no_difference_is_shown_by_no_number_of_tasks():
    assert tasks_needed(0.0) is None
    assert tasks_needed(1e-5, flips=0.1) is None


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_binomial_test_of_one_half(lost, won):
    expected = binomtest(lost, lost + won, 0.5).pvalue if lost + won else 1.0
    assert mcnemar(lost, won) == pytest.approx(expected)
    assert exact_test(table(3, lost, won, 2)) == pytest.approx(expected)


@given(repeated_tasks())
def test_the_mixed_test_is_what_shuffling_every_tasks_answers_gives(tasks):
    """Enumerate every way of handing each task's answers to the arms, all equally likely."""
    counts = [[sum(pick) for pick in itertools.combinations(_answers(task), task.variant_runs)] for task in tasks]
    sums = [0]
    for ways in counts:
        sums = [total + way for total in sums for way in ways]
    observed = sum(task.variant for task in tasks)
    tails = [np.mean([total <= observed for total in sums]), np.mean([total >= observed for total in sums])]
    assert exact_test(tasks) == pytest.approx(min(1.0, 2 * min(tails)))


@given(repeated_tasks())
def test_swapping_the_arms_mirrors_the_difference(tasks):
    swapped = [TaskPair(t.variant, t.variant_runs, t.production, t.production_runs) for t in tasks]
    assert exact_test(swapped) == pytest.approx(exact_test(tasks))
    low, high = difference_interval(tasks)
    assert difference_interval(swapped) == pytest.approx((-high, -low))


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_wilson_interval_holds_the_share_and_stays_within_nought_and_one(right, wrong):
    interval = wilson(right, right + wrong)
    if right + wrong == 0:
        assert interval is None
        return
    assert 0 <= interval[0] <= right / (right + wrong) <= interval[1] <= 1
    expected = binomtest(right, right + wrong).proportion_ci(method="wilson")
    assert interval == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_pass_at_k_is_the_share_of_draws_with_a_right_answer():
    answers = [1] * 3 + [0] * 5
    for k in range(1, 9):
        draws = list(itertools.combinations(answers, k))
        assert pass_at_k(3, 8, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))


@pytest.mark.parametrize(("right", "n", "k"), [(1, 2, 3), (3, 2, 1), (-1, 2, 1), (0, 0, 1), (1, 2, 0)])
def test_pass_at_k_of_impossible_counts_is_refused(right, n, k):
    with pytest.raises(ValueError, match="pass@"):
        pass_at_k(right, n, k)


def test_flakiness_is_the_share_of_pairs_that_differ():
    assert flakiness(1, 1) is None
    assert flakiness(4, 4) == 0
    pairs = list(itertools.combinations([1, 1, 1, 0, 0], 2))
    assert flakiness(3, 5) == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))


@pytest.mark.parametrize("counts", [(2, 1, 0, 1), (0, 0, 0, 1), (0, 1, -1, 1)])
def test_impossible_answers_are_refused(counts):
    with pytest.raises(ValueError, match="cannot be"):
        TaskPair(*counts)


def test_two_runs_of_one_flaky_engine_are_called_different_at_most_one_time_in_twenty():
    random = np.random.default_rng(31)
    chances = random.beta(6, 1.2, 28)  # most tasks nearly always right, some a coin: about 23 of 28
    wrong = 0
    for _ in range(1000):
        first, second = random.random(28) < chances, random.random(28) < chances
        tasks = [TaskPair(int(a), 1, int(b), 1) for a, b in zip(first, second, strict=True)]
        wrong += judge_scores(tasks, minimum_effect=0.03, flips=0.05).verdict is not Verdict.UNDECIDED
    assert wrong <= 50


def _answers(task: TaskPair) -> list[int]:
    right, runs = task.production + task.variant, task.production_runs + task.variant_runs
    return [1] * right + [0] * (runs - right)


def drawn(rng, production, variant, runs):
    """Attempts at tasks with these chances of a right answer, `runs` an arm."""
    return [TaskPair(int(rng.binomial(runs, p)), runs, int(rng.binomial(runs, q)), runs)
            for p, q in zip(production, variant, strict=True)]  # fmt: skip


@pytest.mark.parametrize("runs", [2, 4, 8])
@pytest.mark.parametrize("chances", [[0.95] * 28, [1.0] * 21 + [0.5] * 7, [0.8] * 28])
def test_the_smallest_difference_is_that_of_all_attempts_and_not_of_tasks_asked_once(runs, chances):
    """By simulation of the mixed test, spread over all tasks: power near 80 %, and never as good as certain."""
    rng = np.random.default_rng(runs)
    flips = sum(p * (1 - p) for p in chances) / 28
    shown = smallest_difference(28 * runs, flips=flips)
    worse = [p * (1 - shown / np.mean(chances)) for p in chances]
    found = np.mean([exact_test(drawn(rng, chances, worse, runs)) < 0.05 for _ in range(300)])
    assert 0.7 < found < 0.97


def test_the_words_count_attempts_and_ask_for_more_repeats_than_were_made():
    tasks = [*[TaskPair(4, 4, 4, 4)] * 22, *[TaskPair(3, 4, 2, 4)] * 4, *[TaskPair(1, 4, 2, 4)] * 2]
    judgement = judge_scores(tasks, minimum_effect=0.01, flips=0.0)
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.smallest_shown == pytest.approx(smallest_difference(112))
    assert "28 tasks with 4 attempts each show only differences from 2 tasks on" in judgement.reason
    assert judgement.repeats_to_decide > 4


def test_many_tasks_are_counted_one_by_one():
    assert "6911 against 6863 of 14042" in judge_scores(table(6000, 863, 911, 6268), minimum_effect=0.0001).reason
    halves = [TaskPair(1, 2, 2, 2)] * 301
    assert "301 against 150.5 of 301" in judge_scores(halves, minimum_effect=0.01).reason


def test_unequal_attempts_count_as_their_harmonic_mean():
    assert attempts([TaskPair(1, 1, 1, 1)] * 28) == 28
    assert attempts([TaskPair(1, 2, 1, 6)] * 10) == 30


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=28), st.sampled_from([0.02, 0.1]))
def test_a_verdict_never_contradicts_the_interval_that_stands_beside_it(counts, minimum_effect):
    judgement = judge_scores([TaskPair(p, 4, v, 4) for p, v in counts], minimum_effect=minimum_effect)
    low, high = judgement.interval
    assert (judgement.verdict is Verdict.EQUIVALENT) == (-minimum_effect <= low and high <= minimum_effect)
    if judgement.verdict in (Verdict.BETTER, Verdict.WORSE):
        assert not low <= 0 <= high


def test_no_verdict_goes_the_other_way_than_the_scores_where_attempts_are_unequal():
    """One task with many attempts must not turn what the mean over tasks says."""
    tasks = [TaskPair(0, 40, 30, 40), *[TaskPair(1, 1, 0, 1)] * 9]
    assert exact_test(tasks) < 0.05
    judgement = judge_scores(tasks, minimum_effect=0.05)
    assert judgement.difference < 0
    assert judgement.verdict is not Verdict.BETTER


@pytest.mark.parametrize(("lost", "repeats"), [(2, 4), (3, 3), (1, 6)])
def test_steady_tasks_that_are_lost_in_every_attempt_are_worse(lost, repeats):
    """What the exact test is sure of must not drown in an interval as wide as that of coins."""
    tasks = [
        *[TaskPair(repeats, repeats, repeats, repeats)] * (28 - lost),
        *[TaskPair(repeats, repeats, 0, repeats)] * lost,
    ]
    judgement = judge_scores(tasks, minimum_effect=0.01)
    assert judgement.p_value < 0.05
    assert judgement.verdict is Verdict.WORSE


@pytest.mark.parametrize("runs", [2, 4])
@pytest.mark.parametrize("chances", [[1.0] * 28, [0.98] * 28, [1.0] * 21 + [0.5] * 7, [0.6, 0.4, 0.3, 0.3, 0.1]])
def test_the_interval_of_these_tasks_and_the_exact_test_seldom_disagree(runs, chances):
    """By simulation, a tenth less right in one arm: at most 8 % disagree, and the interval covers in 92 % or more."""
    rng = np.random.default_rng(runs)
    worse = [max(0.0, p - 0.1) for p in chances]
    true, covered, apart = np.mean(worse) - np.mean(chances), 0, 0
    for _ in range(300):
        tasks = drawn(rng, chances, worse, runs)
        low, high = repeated_interval(tasks)
        covered += low <= true <= high
        apart += (exact_test(tasks) < 0.05) == (low <= 0 <= high)
    assert covered >= 0.92 * 300
    assert apart <= 0.08 * 300
