import msgspec
import pytest

from pitstop.core.documents import EngineIdentity, Figure, RunDocument, Status, Verdict
from pitstop.services.trial.verdicts import Question, judge_arms, why_stop
from pitstop.stats.noise import NoisePrior
from pitstop.stats.sequential import Plan

KEY = ("decode", "prose/en", "decode_tok_s")
NOISE = NoisePrior(sd=0.005, df=30)
ENGINE = EngineIdentity(kind="vllm", model="m")


def figure(value, status=Status.OK, metric="decode_tok_s", reason=""):
    named = {"ruler": "decode", "case": "prose/en", "metric": metric, "unit": "tok/s", "source": "usage"}
    return Figure(**named, value=value, status=status, reason=reason)


def run(block, measured):
    return RunDocument(id=str(block), started_at="", engine=ENGINE, figures=[measured] if measured else [])


def runs(*figures):
    return {block: run(block, measured) for block, measured in enumerate(figures)}


def judged(production, variant, noise=NOISE, primary=("decode/*/decode_tok_s",), blocks=(0, 1)):
    return judge_arms(production, {"k2": variant}, Question(0.03, primary, blocks), lambda _key: noise)


def test_a_clear_gain_in_both_blocks_is_better():
    [record] = judged(runs(figure(100.0), figure(101.0)), runs(figure(121.0), figure(120.0)))
    assert (record.verdict, record.primary, record.blocks) == (Verdict.BETTER, True, 2)
    assert record.ratio == pytest.approx(1.2, rel=0.02)


def test_one_boot_without_knowledge_of_the_box_is_undecided():
    [record] = judged(runs(figure(100.0)), runs(figure(130.0)), noise=None, blocks=(0,))
    assert record.verdict is Verdict.UNDECIDED


def test_an_invalid_block_is_left_out_and_named_not_held_against_the_arm():
    wrong = figure(200.0, Status.INVALID, reason="the engine that answered was vllm 0.23")
    [record] = judged(runs(figure(100.0), figure(100.0)), runs(wrong, wrong))
    assert record.verdict is Verdict.UNDECIDED
    assert "2 of 2 block(s) left out as invalid: the engine that answered was vllm 0.23" in record.reason


def test_an_unverified_figure_claims_nothing():
    doubtful = figure(150.0, Status.UNVERIFIED, reason="the server says nothing of its cache")
    [record] = judged(runs(figure(100.0), figure(100.0)), runs(doubtful, doubtful))
    assert record.verdict is Verdict.UNDECIDED
    assert "says nothing of its cache" in record.reason


def test_arms_that_were_not_asked_the_same_are_not_compared():
    otherwise = msgspec.structs.replace(figure(150.0), detail={"request": "without temperature"})
    [record] = judged(runs(figure(100.0), figure(100.0)), runs(otherwise, otherwise))
    assert record.verdict is Verdict.UNDECIDED
    assert "not asked the same: some as defined and some without temperature" in record.reason
    slower = msgspec.structs.replace(otherwise, value=100.0)
    [record] = judged(runs(slower, slower), runs(otherwise, otherwise))
    assert record.verdict is Verdict.BETTER


def test_an_arm_that_never_booted_is_worse_not_missing():
    [record] = judged(runs(figure(100.0), figure(100.0)), {})
    assert record.verdict is Verdict.WORSE


def test_what_explains_a_figure_gets_no_verdict():
    assert judged(runs(figure(3.0, metric="tokens_per_event")), runs(figure(4.0, metric="tokens_per_event"))) == []


def test_lower_is_better_for_a_time():
    slow, quick = figure(0.5, metric="ttft_s"), figure(0.3, metric="ttft_s")
    [record] = judged(runs(slow, slow), runs(quick, quick))
    assert (record.verdict, record.primary) == (Verdict.BETTER, False)


def test_of_many_figures_that_were_not_named_beforehand_a_lucky_one_does_not_decide():
    def many(first):
        figures = [msgspec.structs.replace(figure(first if n == 0 else 100.0), case=f"case{n}") for n in range(30)]
        return {block: RunDocument(id=str(block), started_at="", engine=ENGINE, figures=figures) for block in (0, 1)}

    noise = NoisePrior(sd=0.03, df=30)
    alone = judged(runs(figure(100.0), figure(100.0)), runs(figure(107.0), figure(107.0)), noise=noise)
    beside = judged(many(100.0), many(107.0), noise=noise, primary=())
    assert alone[0].verdict is Verdict.BETTER
    assert {record.verdict for record in beside} == {Verdict.UNDECIDED}


FOUR = Plan.halfway(4)


def stopped(production, variants, noise=NOISE):
    question = Question(0.03, ("decode/*/decode_tok_s",), (0, 1), confidence=FOUR.confidence_at(2))
    return why_stop(production, variants, question, lambda _key: noise, FOUR)


def test_a_trial_stops_when_every_primary_figure_of_every_variant_is_decided():
    production = runs(figure(100.0), figure(100.0))
    slow, same = runs(figure(70.0), figure(71.0)), runs(figure(100.1), figure(100.0))
    assert "decided early: worse" in stopped(production, {"slow": slow})
    assert "decided early: equivalent" in stopped(production, {"slow": slow, "same": same})


def test_one_that_is_not_keeps_it_going():
    production = runs(figure(100.0), figure(100.0))
    slow, unclear = runs(figure(70.0), figure(71.0)), runs(figure(102.5), figure(103.9))
    assert stopped(production, {"slow": slow, "unclear": unclear}, NoisePrior(sd=0.02, df=30)) == ""


@pytest.mark.parametrize("status", [Status.INVALID, Status.UNVERIFIED])
def test_a_doubtful_figure_ends_nothing(status):
    doubtful = runs(figure(70.0, status, reason="why"), figure(71.0))
    assert stopped(runs(figure(100.0), figure(100.0)), {"slow": doubtful}) == ""


def test_an_arm_that_crashes_in_every_block_need_not_crash_again():
    assert "worse" in stopped(runs(figure(100.0), figure(100.0)), {"dead": {}})
