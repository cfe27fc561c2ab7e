from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.window import parse_window
from pitstop.decisions.idle import Activity, Policy, Rest, State, decide

POLICY = Policy(idle_for_s=60, give_up_after_s=600)
QUIET = Activity(running=0, waiting=0, finished=10, generation_tokens=500)


def watch(readings, policy=POLICY, step_s=10, minute=0):
    state, rest = State(0.0), Rest.WAITING
    for index, reading in enumerate(readings):
        state, rest = decide(state, reading, policy, index * step_s, minute)
        if rest is not Rest.WAITING:
            return rest, index * step_s, state
    return rest, None, state


def test_after_a_minute_of_quiet_it_goes():
    assert watch([QUIET] * 20)[:2] == (Rest.IDLE, 60)


def test_a_request_served_between_two_looks_starts_the_minute_anew():
    later = Activity(running=0, waiting=0, finished=11, generation_tokens=600)
    assert watch([QUIET] * 4 + [later] * 20)[:2] == (Rest.IDLE, 110)


def test_our_own_probe_does_not():
    probed = Activity(running=0, waiting=0, finished=11, generation_tokens=501, own_finished=1, own_tokens=1)
    assert watch([QUIET] * 4 + [probed] * 20)[:2] == (Rest.IDLE, 60)


ON_ITS_WAY = replace(QUIET, running=1, own_on_their_way=1)
COUNTED_BY_THE_SERVER_ONLY = replace(QUIET, finished=11, own_on_their_way=1)
OVER = replace(QUIET, finished=11, own_finished=1)


@pytest.mark.parametrize("seen", [ON_ITS_WAY, COUNTED_BY_THE_SERVER_ONLY])
def test_nor_while_it_is_on_its_way_wherever_the_server_has_counted_it(seen):
    assert watch([QUIET] * 3 + [seen] + [OVER] * 20)[:2] == (Rest.IDLE, 60)


def test_a_request_of_somebody_else_does_not_hide_behind_our_probe():
    both = replace(QUIET, finished=12, own_on_their_way=1)
    assert watch([QUIET] * 3 + [both] + [replace(OVER, finished=12)] * 20)[:2] == (Rest.IDLE, 100)
    one_counted = replace(QUIET, finished=11, own_on_their_way=1)  # whose it was shows when ours is over
    after = replace(OVER, finished=12)
    assert watch([QUIET] * 3 + [one_counted] + [after] * 20)[:2] == (Rest.IDLE, 110)


def test_two_running_are_one_too_many_for_a_single_probe():
    assert "2 running" in watch([replace(ON_ITS_WAY, running=2)] * 3)[2].why


def test_the_quiet_does_not_begin_while_our_probe_is_on_its_way():
    assert watch([ON_ITS_WAY] * 3 + [OVER] * 20)[:2] == (Rest.IDLE, 90)


def test_probes_every_half_minute_keep_no_trial_waiting():
    rounds = [
        [replace(QUIET, running=1, finished=10 + n, own_finished=n, own_on_their_way=1),
         replace(QUIET, finished=11 + n, own_finished=n + 1)]
        for n in range(20)
    ]  # fmt: skip
    assert watch([reading for pair in rounds for reading in pair], step_s=15)[:2] == (Rest.IDLE, 75)


def test_requests_inside_the_gateway_are_service():
    assert watch([replace(QUIET, at_gateway=1)] * 4 + [QUIET] * 20)[:2] == (Rest.IDLE, 100)


def test_without_a_finished_counter_tokens_tell():
    before, after = Activity(running=0, generation_tokens=5), Activity(running=0, generation_tokens=9)
    assert watch([before] * 4 + [after] * 20)[:2] == (Rest.IDLE, 110)
    assert watch([before] * 4 + [replace(after, own_finished=1, own_tokens=4)] * 20)[:2] == (Rest.IDLE, 60)


def test_an_engine_that_was_restarted_meanwhile_starts_the_minute_anew():
    assert watch([QUIET] * 4 + [Activity(running=0, finished=0, generation_tokens=0)] * 20)[:2] == (Rest.IDLE, 110)


@pytest.mark.parametrize("busy", [Activity(running=1), Activity(running=0, waiting=2)])
def test_a_busy_server_is_given_up_after_the_limit_and_never_called_idle(busy):
    rest, at, state = watch([busy] * 100)
    assert (rest, at) == (Rest.GAVE_UP, 600)
    assert "request(s)" in state.why


@pytest.mark.parametrize("reading", [None, Activity(), Activity(finished=3)])
def test_a_server_that_does_not_tell_what_runs_is_not_idle(reading):
    assert watch([reading] * 10)[0] is Rest.BLIND


def test_a_single_missed_reading_only_starts_the_quiet_time_anew():
    assert watch([QUIET] * 3 + [None] + [QUIET] * 20)[:2] == (Rest.IDLE, 100)


def test_a_server_that_told_before_is_waited_for_while_it_is_restarted():
    anew = Activity(running=0, finished=0, generation_tokens=0)
    assert watch([QUIET] * 3 + [None] * 20 + [anew] * 20)[:2] == (Rest.IDLE, 290)
    rest, at, state = watch([QUIET] * 3 + [None] * 100)
    assert (rest, at, state.why) == (Rest.GAVE_UP, 600, "an answer of the server")


def test_no_idle_time_asked_for_needs_no_counters():
    assert watch([None], Policy(0, 600))[0] is Rest.IDLE


def test_a_window_is_waited_for_without_counters_too_when_no_idle_time_was_asked_for():
    policy = Policy(0, 600, parse_window("22:00-02:00"))
    assert watch([None] * 20, policy, minute=12 * 60)[0] is Rest.WAITING
    assert watch([None] * 20, policy, minute=23 * 60)[0] is Rest.IDLE
    assert watch([None] * 70, policy, minute=12 * 60)[0] is Rest.GAVE_UP


def test_a_window_over_midnight_is_waited_for():
    policy = Policy(60, 600, parse_window("22:00-02:00"))
    assert watch([QUIET] * 20, policy, minute=12 * 60)[0] is Rest.WAITING
    assert watch([QUIET] * 20, policy, minute=23 * 60)[0] is Rest.IDLE
    assert watch([QUIET] * 20, policy, minute=60)[0] is Rest.IDLE


@pytest.mark.parametrize(
    "text", ["1", "25:00-26:00", "01:00", "01:60-02:00", "a-b", "01:00-02:00-03:00", "03:00-03:00"]
)
def test_what_is_no_window_is_refused(text):
    with pytest.raises(ValueError, match="window"):
        parse_window(text)


readings = st.none() | st.builds(
    Activity,
    running=st.none() | st.integers(0, 2),
    waiting=st.none() | st.integers(0, 2),
    finished=st.none() | st.integers(0, 5),
)


@given(st.lists(readings, max_size=100))
def test_idle_is_only_said_after_a_full_minute_in_which_nothing_ran(sequence):
    rest, at, _ = watch(sequence)
    if rest is Rest.IDLE:
        last_minute = sequence[at // 10 - 6 : at // 10 + 1]
        assert len(last_minute) == 7
        assert all(reading is not None and reading.running == 0 and not reading.waiting for reading in last_minute)


@given(st.lists(st.sampled_from(["nothing", "own begins", "own ends", "own counted", "foreign"]), max_size=120))
def test_no_minute_with_a_foreign_request_is_called_idle(events):
    """The server counts ours at some time between its begin and its end; a foreign one is counted at once."""
    finished, own_over, begun, counted = 10, 0, False, False
    sequence, foreign_at = [], []
    for index, event in enumerate(events):
        if event == "own begins" and not begun:
            begun, counted = True, False
        elif event == "own counted" and begun and not counted:
            finished, counted = finished + 1, True
        elif event == "own ends" and begun:
            finished, own_over, begun = finished + (not counted), own_over + 1, False
        elif event == "foreign":
            finished += 1
            foreign_at.append(index)
        busy = int(begun and not counted)
        sequence.append(Activity(running=busy, finished=finished, own_finished=own_over, own_on_their_way=int(begun)))
    rest, at, _ = watch(sequence)
    if rest is Rest.IDLE:
        assert not [index for index in foreign_at if at // 10 - 5 <= index <= at // 10]
