from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.ejection import (
    EjectionPolicy,
    Health,
    Service,
    after_abandoned,
    after_failure,
    after_probe,
    after_send,
    after_success,
    is_ejected,
    probe_due,
)

WELL = Health()
POLICY = EjectionPolicy(eject_after=3, eject_for_s=10)


def failed(times, health=WELL, now_s=0.0):
    for _ in range(times):
        health = after_failure(health, POLICY, now_s)
    return health


def test_failures_in_a_row_eject_and_a_success_between_them_does_not():
    assert not is_ejected(failed(2))
    assert is_ejected(failed(3))
    assert not is_ejected(failed(2, after_success(failed(2))))


def test_a_probe_lets_exactly_one_request_through():
    health = after_probe(failed(3), POLICY, 10, answered=True)
    assert not is_ejected(health)
    assert is_ejected(after_send(health))
    assert not is_ejected(after_abandoned(after_send(health)))
    assert after_success(after_send(health)) == Health()


def test_who_fails_on_trial_stays_away_twice_as_long_but_not_for_ever():
    health, waits = failed(3), []
    for _ in range(8):
        now_s = health.until_s
        waits.append(now_s)
        health = failed(1, after_send(after_probe(health, POLICY, now_s, answered=True)), now_s)
        waits[-1] = health.until_s - now_s
    assert waits == [20, 40, 80, 160, 160, 160, 160, 160]


def test_probes_come_when_they_are_due_and_a_failed_one_waits_again():
    health = failed(3)
    assert not probe_due(health, 9.9)
    assert probe_due(health, 10)
    later = after_probe(health, POLICY, 10, answered=False)
    assert not probe_due(later, 19.9)
    assert probe_due(later, 20)


def test_a_late_probe_about_an_engine_that_serves_changes_nothing():
    assert after_probe(Health(), POLICY, 5, answered=False) == Health()


STEPS = st.lists(st.sampled_from(["send", "success", "failure", "gone", "probe+", "probe-"]), max_size=40)


@given(STEPS)
def test_from_any_history_a_probe_and_an_answer_bring_an_engine_back(steps):
    health = Health()
    for now_s, step in enumerate(steps):
        health = {
            "send": after_send,
            "success": after_success,
            "gone": after_abandoned,
            "failure": lambda h, t=now_s: after_failure(h, POLICY, t),
            "probe+": lambda h, t=now_s: after_probe(h, POLICY, t, answered=True),
            "probe-": lambda h, t=now_s: after_probe(h, POLICY, t, answered=False),
        }[step](health)
        assert health.until_s <= now_s + 160
    back = after_probe(health, POLICY, 10**6, answered=True)
    assert not is_ejected(after_success(after_send(replace(back, trial_out=False))))
    assert after_success(back).service is Service.SERVING
