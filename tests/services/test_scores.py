"""The verdict on a score: 25 against 22 of 28 is undecided, and why is said in words."""

import random

import pytest

from pitstop.core.documents import EngineIdentity, Figure, RunDocument, Status, Verdict
from pitstop.services.compare.measured import of_run
from pitstop.services.compare.verdicts import compare
from pitstop.services.scores import judge_score, noise_key, sheet_of
from pitstop.services.trial.verdicts import Question, judge_arms
from pitstop.stats.noise import NoisePrior

TASKS = [f"math/en/t{i}" for i in range(28)]
KEY = ("quality", "all", "score")


def score(marks, *, status=Status.OK, reply="r", pass_s=840.0, **changes):
    detail = {
        "set": "pitstop-28/1/both",
        "marks": marks,
        "replies": [f"{reply}{i}" for i in range(9)],
        "pass_s": pass_s,
    }
    right = sum(sum(filter(None, one)) / max(1, len(one)) for one in marks.values()) / max(1, len(marks))
    return Figure(ruler="quality", case="all", metric="score", unit="fraction", value=right, status=status,
                  source="s", detail=detail, **changes)  # fmt: skip


def marks(right, lost=0, repeats=1):
    """The first `right` tasks are right; of those, `lost` others than in the plain order."""
    order = TASKS[lost:] + TASKS[:lost]
    return {task: [int(order.index(task) < right)] * repeats for task in TASKS}


def judged(production, variant, **more):
    return judge_score([(production, variant)], minimum_effect=0.1, noise=None, **more)


@pytest.mark.parametrize(("variant", "production"), [(22, 25), (25, 22), (26, 23), (23, 26)])
@pytest.mark.parametrize("lost", [0, 2])
def test_three_tasks_of_28_are_noise_and_it_is_said_why(variant, production, lost):
    found = judged(score(marks(production)), score(marks(variant, lost), reply="v"))
    assert found.verdict is Verdict.UNDECIDED
    assert f"{variant} against {production} of 28" in found.reason
    assert "within what chance does" in found.reason
    assert "repeats of these" in found.reason
    assert "at 14 min 00 s a pass of one arm" in found.reason
    assert found.ratio == pytest.approx(variant / production)


def test_a_loss_of_half_is_worse_and_a_gain_of_as_much_better():
    assert judged(score(marks(26)), score(marks(10), reply="v")).verdict is Verdict.WORSE
    assert judged(score(marks(10)), score(marks(26), reply="v")).verdict is Verdict.BETTER


def test_the_same_answers_are_equivalent_within_ten_percent():
    found = judged(score(marks(25)), score(marks(25), reply="v"))
    assert found.verdict is Verdict.EQUIVALENT
    assert found.interval[0] < 1 < found.interval[1]


def test_tasks_that_one_arm_alone_answered_are_left_out_and_it_is_said():
    some = {task: one for task, one in marks(25).items() if task in TASKS[3:]}
    found = judged(score(marks(25)), score(some, reply="v"))
    assert "of 25 (p" in found.reason
    assert "3 of 28 tasks have an answer in one arm alone, and were left out" in found.reason


def test_tasks_that_were_edited_between_two_boots_are_not_paired_by_their_names():
    asked = [score(marks(right, repeats=4), reply=str(right)) for right in (26, 10)]
    asked[1].detail["set"] = "own/0123456789abcdef"
    found = judged(*asked)
    assert found.verdict is Verdict.UNDECIDED
    assert found.reason == "the boots were asked other tasks: own/0123456789abcdef and pitstop-28/1/both"


def test_repeats_decide_what_one_pass_cannot():
    one = judged(score(marks(25)), score(marks(21), reply="v"))
    many = judged(score(marks(25, repeats=5)), score(marks(21, repeats=5), reply="v"))
    assert (one.verdict, many.verdict) == (Verdict.UNDECIDED, Verdict.WORSE)


def test_boots_that_drew_the_same_do_not_decide_it():
    """vLLM's seed is 0 unless told: two boots may answer word by word the same."""
    blocks = [(score(marks(25), reply="p"), score(marks(21), reply="v"))] * 5
    found = judge_score(blocks, minimum_effect=0.1, noise=None)
    assert found.verdict is Verdict.UNDECIDED
    assert "left out, for they said word by word" in found.reason


def test_two_boots_that_scored_the_same_by_luck_are_no_knowledge_of_the_noise():
    blocks = [(score(marks(25)), score(marks(22), reply="v"))]
    lucky = judge_score(blocks, minimum_effect=0.1, noise=NoisePrior(0.0, 1.0, "2 boots of 1 configuration"))
    assert lucky == judge_score(blocks, minimum_effect=0.1, noise=None)
    assert lucky.noise_floor is None


def test_what_the_ledger_knows_of_the_noise_is_told():
    noise = NoisePrior(0.08, 6.0, "6 A/A pairs")
    found = judge_score([(score(marks(25)), score(marks(22), reply="v"))], minimum_effect=0.1, noise=noise)
    assert "two runs of one engine differ by about 2.0 tasks (6 A/A pairs)" in found.reason
    assert found.noise_floor == pytest.approx(0.083, abs=0.001)


def test_the_same_noise_over_more_attempts_means_that_tasks_turn_more():
    """Four attempts even a score out: where runs of four still differ as much, more tasks turn, and less is shown."""
    noise = NoisePrior(0.05, 6.0, "6 A/A pairs")
    words = []
    for repeats in (1, 4):
        pair = (score(marks(25, repeats=repeats)), score(marks(25, lost=1, repeats=repeats), reply="v"))
        words.append(judge_score([pair], minimum_effect=0.001, noise=noise).reason)
    assert "28 tasks show only differences from 9 tasks on" in words[0]
    assert "28 tasks with 4 attempts each show only differences from 5 tasks on" in words[1]


def test_a_variant_that_gave_no_score_is_not_better_for_it():
    gone = score({}, status=Status.UNAVAILABLE)
    assert judge_score([(score(marks(20)), gone)] * 2, minimum_effect=0.1, noise=None).verdict is Verdict.WORSE
    assert judge_score([(score(marks(20)), None)], minimum_effect=0.1, noise=None).verdict is Verdict.UNDECIDED


def test_nothing_right_in_either_arm_has_no_ratio_and_is_undecided_or_equivalent():
    found = judged(score(marks(0)), score(marks(0), reply="v"))
    assert found.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT)
    assert found.ratio is None


BAD = [{}, {"marks": {}}, {"marks": {"a": [2]}}, {"marks": {"a": "1"}}, {"marks": [1]}, {"marks": None}]


@pytest.mark.parametrize("detail", [*BAD, {"marks": {"a": [1.5]}}])
def test_a_document_that_somebody_wrote_badly_has_no_marks(detail):
    assert sheet_of(detail) is None


def run_of(figure, run_id="a", **settings):
    engine = EngineIdentity(kind="vllm", model="qwen", container_id=run_id, started_at=run_id)
    return RunDocument(id=run_id, started_at="2026-01-01", engine=engine, figures=[figure], settings=settings)


def test_a_trial_judges_the_score_task_by_task_and_all_else_as_before():
    production = {0: run_of(score(marks(25)), "a"), 1: run_of(score(marks(24), reply="q"), "b")}
    variant = {0: run_of(score(marks(9), reply="v"), "c"), 1: run_of(score(marks(8), reply="w"), "d")}
    asked = []
    question = Question(minimum_effect=0.03, primary=["quality/all/score"], blocks=(0, 1), minimum_score_effect=0.1)
    [record] = judge_arms(production, {"broken": variant}, question, asked.append)
    assert (record.verdict, record.primary, record.minimum_effect) == (Verdict.WORSE, True, 0.1)
    assert asked == [("quality", "all of pitstop-28/1/both by qwen", "score")]


def test_compare_judges_two_runs_and_refuses_other_instances():
    one, two = run_of(score(marks(25)), "a", seed=1), run_of(score(marks(22), reply="v"), "b", seed=1)
    [record] = compare(of_run(one, "a"), of_run(two, "b"), minimum_effect=0.03, noise=lambda *_: None).verdicts
    assert (record.verdict, record.minimum_effect) == (Verdict.UNDECIDED, 0.1)
    other = run_of(score(marks(22), reply="v"), "b", seed=2)
    with pytest.raises(Exception, match="other seed"):
        compare(of_run(one, "a"), of_run(other, "b"), minimum_effect=0.03, noise=lambda *_: None)


def test_the_noise_of_a_score_belongs_to_a_model_and_a_set():
    figure = score(marks(3))
    assert noise_key(KEY, figure, "qwen")[1] == "all of pitstop-28/1/both by qwen"
    assert noise_key(("decode", "x", "decode_tok_s"), figure, "qwen") == ("decode", "x", "decode_tok_s")


@pytest.mark.parametrize("repeats", [1, 3])
def test_two_runs_of_one_engine_are_seldom_called_different(repeats):
    """A/A, simulated: 300 pairs of 28 tasks that turn as a real model's do; at most 5 % may be called different."""
    draw = random.Random(repeats)
    chances = [draw.choice([0.02, 0.5, 0.8, 0.95, 1.0]) for _ in TASKS]

    def arm(name):
        return score(
            {t: [int(draw.random() < p) for _ in range(repeats)] for t, p in zip(TASKS, chances, strict=True)},
            reply=name,
        )

    wrong = sum(judged(arm("p"), arm("v")).verdict in (Verdict.BETTER, Verdict.WORSE) for _ in range(300))
    assert wrong <= 0.05 * 300
