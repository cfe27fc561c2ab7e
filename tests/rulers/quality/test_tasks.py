"""The 28 generators: the same seed gives the same, another seed another, and every instance can be answered."""

from fractions import Fraction

import pytest

from pitstop.core.config.quality import Quality
from pitstop.rulers.language import language_of
from pitstop.rulers.quality.keys import CodeKey, NumberKey, ToolKey, WordKey
from pitstop.rulers.quality.marking import mark_answer
from pitstop.rulers.quality.task import Kind, Level
from pitstop.rulers.quality.task_set import TASKS, task_set
from pitstop.rulers.ruler import Settings
from support.solver import forms

SEEDS = range(40)
BY_NAME = {task.name: task for task in TASKS}


def by(kind, level=None):
    return [task for task in TASKS if task.kind is kind and level in (None, task.level)]


def test_there_are_28_tasks_of_three_kinds_and_three_levels():
    assert [len(by(kind)) for kind in Kind] == [14, 10, 4]
    assert len(BY_NAME) == 28
    assert all(by(Kind.MATH, level) and by(Kind.CODE, level) and by(Kind.TOOLS, level) for level in Level)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_seed_gives_one_instance_and_another_seed_another(task):
    for language in ("en", "de"):
        assert task.generate(7, language) == task.generate(7, language)
    drawn = {repr(task.generate(seed, "en")) for seed in SEEDS}
    assert len(drawn) > len(SEEDS) // 3


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_both_languages_ask_the_same(task):
    for seed in SEEDS:
        english, german = task.generate(seed, "en"), task.generate(seed, "de")
        assert english.prompt != german.prompt
        if isinstance(english.key, ToolKey):
            assert english.key.calls == german.key.calls
        else:
            assert english.key == german.key
        assert language_of(german.prompt).code in ("de", None)


@pytest.mark.parametrize("task", by(Kind.MATH), ids=lambda task: task.name)
def test_the_right_answer_is_taken_in_every_form_and_that_of_another_seed_is_not(task):
    for seed in SEEDS:
        for language in ("en", "de"):
            one, other = task.generate(seed, language), task.generate(seed + 1000, language)
            for form in forms(one.key, language):
                assert mark_answer(one.key, f"Answer: {form}", language).right, (form, one.key)
            if isinstance(one.key, WordKey) and one.key.right != other.key.right:
                assert not mark_answer(one.key, f"Answer: {other.key.words}", language).right
            if isinstance(one.key, NumberKey) and one.key.value != other.key.value:
                assert not mark_answer(one.key, f"Answer: {other.key.words}", language).right


@pytest.mark.parametrize("task", by(Kind.CODE), ids=lambda task: task.name)
def test_hidden_tests_are_several_and_not_all_alike(task):
    for seed in SEEDS:
        key = task.generate(seed, "en").key
        assert isinstance(key, CodeKey)
        assert len(key.calls) == len(key.expected) >= 8
        assert len({repr(one) for one in key.expected}) > 3
        assert not any(one.error for one in key.expected[:2])  # those are shown


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_no_prompt_gives_its_answer_away_or_holds_a_place_that_was_not_filled(task):
    for seed in SEEDS:
        one = task.generate(seed, "de")
        assert "{" not in one.prompt.replace("{}", "")
        if isinstance(one.key, NumberKey) and one.key.value > 99 and one.level is Level.HARD:
            assert str(one.key.value) not in one.prompt.split()


def test_the_answers_are_those_that_independent_reckoning_finds():
    for seed in SEEDS:
        a, b = [int(word.strip("?")) for word in BY_NAME["addition"].generate(seed, "en").prompt.split()[2:5:2]]
        assert BY_NAME["addition"].generate(seed, "en").key == NumberKey(Fraction(a + b))
        one = BY_NAME["equation"].generate(seed, "en")
        left, right = one.prompt.partition("Solve for x: ")[2].partition("\n")[0].split("=")
        x = one.key.value
        assert _linear(left, x) == _linear(right, x)


def _linear(side, x):
    factor, rest = side.replace(" ", "").split("x")
    return int(factor) * x + int(rest)


def test_a_set_gives_every_second_task_another_language_and_its_cases_can_be_chosen():
    drawn = task_set(Settings(seed=3)).instances
    assert len(drawn) == 28
    assert {one.language for one in drawn[:2]} == {"en", "de"}
    assert {one.language for one in task_set(Settings(quality=Quality(language="de"))).instances} == {"de"}
    assert all(one.kind is Kind.CODE for one in task_set(Settings(cases=("code/*",))).instances)
    assert not task_set(Settings(cases=("prose/*",))).instances


def test_both_arms_of_a_trial_are_asked_the_same():
    assert task_set(Settings(seed=5)) == task_set(Settings(seed=5))
    assert task_set(Settings(seed=5)) != task_set(Settings(seed=6))
