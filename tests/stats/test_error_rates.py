"""The promises of "How a verdict is made", held by simulation: seeded, so a run either always passes or never does."""

import math

import numpy as np
import pytest

from pitstop.core.documents import Verdict
from pitstop.stats.noise import NoisePrior, from_boots, from_pairs
from pitstop.stats.power import power
from pitstop.stats.sequential import Plan, look
from pitstop.stats.verdict import judge

TRIALS = 2000
SD = 0.02  # of a block's log ratio
DELTA = 0.03


def most(rate: float, n: int = TRIALS) -> int:
    """More than this many of n would happen once in a thousand times if the true rate were `rate`."""
    return math.ceil(n * rate + 3.09 * math.sqrt(n * rate * (1 - rate)))


def verdicts(effect: float, blocks: int, *, prior_df: int = 0, sd: float = SD, seed: int = 1) -> list[Verdict]:
    """Trials on a box whose ledger estimated the noise from `prior_df` A/A pairs of its own, not from the truth."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(TRIALS):
        past = random.normal(0, sd, prior_df)
        noise = from_pairs([(1.0, math.exp(x)) for x in past]) if prior_df else None
        logs = random.normal(math.log1p(effect), sd, blocks)
        now = [(80.0, 80.0 * math.exp(x)) for x in logs]
        found.append(judge(now, minimum_effect=DELTA, higher_is_better=True, noise=noise).verdict)
    return found


def wrong(found: list[Verdict]) -> int:
    return sum(verdict in (Verdict.BETTER, Verdict.WORSE) for verdict in found)


@pytest.mark.parametrize(("blocks", "prior_df"), [(2, 0), (3, 0), (4, 0), (8, 0), (1, 4), (2, 6), (2, 30), (4, 12)])
def test_nothing_changed_is_called_better_or_worse_at_most_as_often_as_stated(blocks, prior_df):
    assert wrong(verdicts(0.0, blocks, prior_df=prior_df, seed=blocks * 100 + prior_df)) <= most(0.05)


@pytest.mark.parametrize("sd", [0.0005, 0.004, 0.1])
def test_the_rate_holds_on_very_quiet_and_very_noisy_boxes(sd):
    assert wrong(verdicts(0.0, 3, sd=sd, seed=7)) <= most(0.05)


@pytest.mark.parametrize(("blocks", "prior_df"), [(3, 0), (2, 10), (4, 12)])
@pytest.mark.parametrize("effect", [DELTA, -DELTA / (1 + DELTA)])
def test_a_difference_of_the_minimum_effect_is_called_equivalent_at_most_as_often_as_stated(blocks, prior_df, effect):
    found = verdicts(effect, blocks, prior_df=prior_df, seed=11)
    assert sum(verdict is Verdict.EQUIVALENT for verdict in found) <= most(0.025)


@pytest.mark.parametrize(("blocks", "prior_df", "at_least"), [(2, 10, 0.90), (3, 10, 0.98), (4, 0, 0.90), (2, 0, 0.15)])
def test_a_gain_of_twice_the_minimum_effect_is_found(blocks, prior_df, at_least):
    """With a 2 % box: two blocks do it where the ledger knows the noise; alone they hardly ever do."""
    found = verdicts(2 * DELTA, blocks, prior_df=prior_df, seed=13)
    assert sum(verdict is Verdict.BETTER for verdict in found) >= at_least * TRIALS
    assert sum(verdict is Verdict.WORSE for verdict in found) <= most(0.001)


@pytest.mark.parametrize(("blocks", "prior_df"), [(2, 10), (4, 0), (3, 5)])
def test_the_power_that_is_foretold_is_the_power_that_is_found(blocks, prior_df):
    found = verdicts(2 * DELTA, blocks, prior_df=prior_df, seed=17)
    foretold = power(math.log1p(2 * DELTA), blocks=blocks, sd=SD, prior_df=prior_df)
    assert sum(verdict is Verdict.BETTER for verdict in found) / TRIALS == pytest.approx(foretold, abs=0.04)


def test_noise_pooled_from_configurations_that_differ_in_noise_keeps_the_rate():
    """Each configuration has its own spread: the disagreement must cost degrees of freedom, or the rate breaks."""
    random = np.random.default_rng(19)
    found = []
    for _ in range(TRIALS):
        spreads = SD / np.sqrt(random.chisquare(6, 9) / 6)
        groups = [np.exp(random.normal(0, sd / math.sqrt(2), 4)) for sd in spreads[:8]]
        now = [(1.0, math.exp(x)) for x in random.normal(0, spreads[8], 2)]
        noise = from_boots(groups)
        found.append(judge(now, minimum_effect=DELTA, higher_is_better=True, noise=noise).verdict)
    assert wrong(found) <= most(0.06)  # empirical Bayes with eight configurations is nearly, not exactly, right


@pytest.mark.parametrize(("blocks", "looks"), [(2, (1, 2)), (4, (2, 4)), (6, (2, 4, 6)), (4, (1, 2, 3, 4))])
def test_looking_early_does_not_raise_the_share_of_wrong_verdicts(blocks, looks):
    random = np.random.default_rng(23)
    plan, stopped, wrongly = Plan(blocks, looks), 0, 0
    for _ in range(TRIALS):
        noise = from_pairs([(1.0, math.exp(x)) for x in random.normal(0, SD, 8)])
        logs = random.normal(0, SD, blocks)
        done = []
        for x in logs:
            done.append((80.0, 80.0 * math.exp(x)))
            seen = look(done, plan, minimum_effect=0.01, higher_is_better=True, noise=noise)
            if seen is not None and seen.stop:
                wrongly += seen.judgement.verdict in (Verdict.BETTER, Verdict.WORSE)
                stopped += len(done) < blocks
                break
    assert wrongly <= most(0.05)
    assert stopped > 0


def test_a_large_loss_stops_a_trial_at_its_first_look():
    random = np.random.default_rng(29)
    plan, early = Plan.halfway(4), 0
    for _ in range(500):
        logs = random.normal(math.log(0.8), SD, 2)
        now = [(80.0, 80.0 * math.exp(x)) for x in logs]
        seen = look(now, plan, minimum_effect=DELTA, higher_is_better=True, noise=NoisePrior(SD, 10))
        early += seen.stop and seen.judgement.verdict is Verdict.WORSE
    assert early >= 495


def test_the_shares_of_all_looks_add_up_to_the_stated_error():
    for looks in [(1, 2), (2, 4), (1, 2, 3, 4), (3, 7, 9)]:
        plan = Plan(looks[-1], looks)
        assert sum(1 - plan.confidence_at(at) for at in looks) == pytest.approx(0.05)
