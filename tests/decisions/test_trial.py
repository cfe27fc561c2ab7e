from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.trial import (
    Action,
    Boot,
    Do,
    Ending,
    How,
    Outcome,
    Policy,
    State,
    advance,
    begun,
    decide,
    recovering,
    replay,
    schedule,
)

POLICY = Policy(restore_attempts=3, stop_attempts=2)
DONE = Outcome(How.DONE)
outcomes = st.builds(Outcome, st.sampled_from(How), st.just("because"))


def run(state: State, answers, policy=POLICY, limit=200):
    """Play a trial against a list of outcomes (then all is well); returns the end and what was done."""
    done, answers = [], list(answers)
    for _ in range(limit):
        action = decide(state)
        done.append(action)
        if action.do is Do.FINISH:
            return state, done
        state = advance(begun(state, action), action, answers.pop(0) if answers else DONE, policy)
    raise AssertionError("a trial must end")


def names(done):
    return [action.do.value for action in done]


def test_the_order_is_mirrored_from_block_to_block():
    assert [boot.arm for boot in schedule(2, 2)] == [0, 1, 1, 0]
    assert [boot.arm for boot in schedule(3, 3)] == [0, 1, 2, 2, 1, 0, 0, 1, 2]


def test_a_trial_without_trouble_boots_every_slot_and_proves_production():
    state, done = run(State(schedule(2, 2)), [])
    assert names(done) == [
        "wait-idle", "take-down", *["boot", "measure", "stop"] * 4, "restore", "prove", "finish",
    ]  # fmt: skip
    assert (state.ending, state.restored) == (Ending.FINISHED, True)


def test_giving_up_while_waiting_touches_nothing():
    state, done = run(State(schedule(2, 1)), [Outcome(How.GAVE_UP, "busy for 4 h")])
    assert names(done) == ["wait-idle", "finish"]
    assert (state.ending, state.touched) == (Ending.GAVE_UP, False)


def test_an_arm_that_does_not_boot_is_a_result_and_the_trial_goes_on():
    state, done = run(State(schedule(2, 1)), [DONE, DONE, Outcome(How.FAILED, "died")])
    assert names(done) == [
        "wait-idle",
        "take-down",
        "boot",
        "stop",
        "boot",
        "measure",
        "stop",
        "restore",
        "prove",
        "finish",
    ]
    assert state.ending is Ending.FINISHED


def test_an_interrupt_while_measuring_stops_the_arm_and_restores():
    state, done = run(State(schedule(2, 2)), [DONE, DONE, DONE, Outcome(How.INTERRUPTED, "SIGTERM")])
    assert names(done)[3:] == ["measure", "stop", "restore", "prove", "finish"]
    assert (state.ending, state.restored, state.reason) == (Ending.INTERRUPTED, True, "SIGTERM")


def test_a_refused_restore_is_tried_again_and_then_a_person_is_needed():
    refusal = Outcome(How.REFUSED, "daemon away")
    state, done = run(State(schedule(1, 1)), [DONE] * 5 + [refusal, DONE, refusal, refusal])
    assert names(done)[5:] == ["restore", "restore", "prove", "restore", "finish"]
    assert (state.ending, state.restored, state.reason) == (Ending.NOT_RESTORED, False, "daemon away")


@given(st.integers(0, 3), st.integers(0, 3), st.lists(outcomes, max_size=60))
def test_whatever_happens_a_trial_ends_restored_untouched_or_asking_for_a_person(arms, blocks, answers):
    state, done = run(State(schedule(arms, blocks)), answers)
    went = {action.do: outcome.how for action, outcome in zip(done, [*answers, *[DONE] * len(done)], strict=False)}
    assert state.touched == (went.get(Do.TAKE_DOWN, How.GAVE_UP) is not How.GAVE_UP)
    if state.touched:
        assert state.restored != (state.ending is Ending.NOT_RESTORED)
        assert done[-2].do in (Do.PROVE, Do.RESTORE)
    assert state.ending is not Ending.RUNNING


@given(st.integers(1, 3), st.integers(1, 2), st.lists(outcomes, max_size=40), st.data())
def test_killed_at_any_step_recovery_stops_what_may_be_up_and_restores(arms, blocks, answers, data):
    boots = schedule(arms, blocks)
    _, done = run(State(boots), answers)
    told = [(action, outcome) for action, outcome in zip(done, [*answers, *[DONE] * len(done)], strict=False)]
    cut = data.draw(st.integers(0, len(told)))
    torn = told[:cut]
    if torn and data.draw(st.booleans()):
        torn[-1] = (torn[-1][0], None)
    found = recovering(replay(boots, torn, POLICY))
    end, then = run(found, [])
    touched = any(action.do is not Do.WAIT_IDLE and action.do is not Do.FINISH for action, _ in torn)
    if touched and (Do.TAKE_DOWN, How.GAVE_UP) in [(action.do, outcome and outcome.how) for action, outcome in torn]:
        touched = False  # it stood back from what somebody else had put in production's place
    if touched and not found.restored:
        was_restoring = torn[-1][0].do in (Do.RESTORE, Do.PROVE) and torn[-1][0].attempt == 1
        assert names(then) == [*([] if was_restoring else ["stop"]), "restore", "prove", "finish"]
        assert end.restored
    else:
        assert names(then) == ["finish"]
    assert end.ending is not Ending.RUNNING
    assert end.position <= len(boots)  # "3 of 2 boots done" was said of a recovery


def test_recovery_of_a_trial_that_had_failed_to_restore_tries_again():
    boots = (Boot(0, 0),)
    given_up = State(boots, next=Do.FINISH, touched=True, ending=Ending.NOT_RESTORED, reason="daemon away")
    state, done = run(recovering(given_up), [])
    assert (names(done), state.restored) == (["stop", "restore", "prove", "finish"], True)


def test_the_next_action_names_its_boot():
    state = State(schedule(2, 1), next=Do.BOOT, position=1)
    assert decide(state) == Action(Do.BOOT, Boot(0, 1), 1, "")


LOOKING = Policy(restore_attempts=3, stop_attempts=2, looks=(2,))


def test_a_trial_looks_where_it_was_planned_and_goes_on_when_it_is_not_decided():
    state, done = run(State(schedule(2, 4)), [], LOOKING)
    assert names(done).count("look") == 1
    assert names(done)[2 + 4 * 3] == "look"  # after two blocks of two boots
    assert [action.boot.block for action in done if action.do is Do.LOOK] == [2]
    assert names(done).count("boot") == 8
    assert state.ending is Ending.FINISHED


def test_what_is_enough_leads_to_the_restore_and_is_no_failure():
    answers = [*[DONE] * (2 + 4 * 3), Outcome(How.ENOUGH, "decided early: worse")]
    state, done = run(State(schedule(2, 4)), answers, LOOKING)
    assert names(done)[-4:] == ["look", "restore", "prove", "finish"]
    assert (state.ending, state.restored) == (Ending.FINISHED, True)


def test_a_trial_that_already_failed_does_not_look_any_more():
    answers = [*[DONE] * (2 + 3 * 3), DONE, Outcome(How.INTERRUPTED, "SIGTERM")]
    _, done = run(State(schedule(2, 4)), answers, LOOKING)
    assert "look" not in names(done)


@given(st.lists(outcomes, max_size=60))
def test_looks_change_nothing_about_production_coming_back(answers):
    state, done = run(State(schedule(3, 3)), answers, Policy(3, 2, (1, 2)), limit=400)
    assert state.restored or not state.touched or state.ending is Ending.NOT_RESTORED
    assert names(done)[-1] == "finish"
