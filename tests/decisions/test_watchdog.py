"""A fake clock, one look every five minutes, and what the watchdog makes of it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.decisions.watchdog import (
    Do,
    Health,
    Lease,
    Look,
    Presence,
    Probe,
    WatchPolicy,
    WatchState,
    Work,
    decide,
    restarted,
)

MINUTE = 60.0
POLICY = WatchPolicy()
UP = Presence.UP
OLD = -86_400.0  # a start long ago


def look(probe, *, started=OLD, presence=UP, **more):
    return Look(probe, detail=str(probe), presence=presence, started_at_s=started, **more)


def watch(looks, policy=POLICY, state=None, every_s=5 * MINUTE):
    """Play looks; yields (minute, step). A restart that is ordered is carried out."""
    state, steps = state or WatchState(), []
    for index, one in enumerate(looks):
        state, step = decide(state, one, policy, index * every_s)
        if step.action is Do.RESTART:
            state = restarted(state, index * every_s)
        steps.append(step)
    return state, steps


def restarts(steps):
    return [index for index, step in enumerate(steps) if step.action is Do.RESTART]


@pytest.mark.parametrize("probe", [Probe.SILENT, Probe.ERROR, Probe.EMPTY, Probe.NO_LISTENER])
def test_two_strikes_in_a_row_restart_and_one_does_not(probe):
    _, steps = watch([look(Probe.TOKEN), look(probe), look(Probe.TOKEN), look(probe), look(probe)])
    assert restarts(steps) == [4]
    assert steps[4].tell[0].startswith("wedged")


def test_two_boots_five_minutes_apart_are_no_restart():
    """The first report's own outage: two variants booting at two looks were counted as two strikes."""
    _, steps = watch(
        [look(Probe.TOKEN), look(Probe.NO_LISTENER, started=4 * MINUTE), look(Probe.NO_LISTENER, started=9 * MINUTE)]
    )
    assert restarts(steps) == []
    assert [step.health for step in steps[1:]] == [Health.LOADING, Health.LOADING]
    assert not any(step.strike for step in steps)


def test_a_boot_resets_a_strike_that_was_there_before_it():
    state, steps = watch([look(Probe.SILENT), look(Probe.SILENT, started=4 * MINUTE), look(Probe.TOKEN)])
    assert (restarts(steps), state.strikes) == ([], 0)


def test_an_engine_that_never_gets_ready_is_restarted_once_its_grace_is_over():
    _, steps = watch([look(Probe.NO_LISTENER, started=0.0)] * 6)
    assert [step.health for step in steps[:3]] == [Health.LOADING] * 3
    assert restarts(steps) == [4]  # the grace ends at minute 15: strikes at 15 and 20


def test_a_start_time_in_the_future_is_no_eternal_youth():
    _, steps = watch([look(Probe.SILENT, started=10**9)] * 2)
    assert restarts(steps) == [1]


def test_a_crash_loop_inside_the_grace_is_found_without_a_single_strike():
    boots = [look(Probe.NO_LISTENER, started=index * 5 * MINUTE - 60) for index in range(5)]
    _, steps = watch(boots)
    assert not any(step.strike for step in steps)
    told = [text for step in steps for text in step.tell]
    assert told == ["crash loop: 3 boots in a row without one token"]


def test_one_long_boot_is_not_a_loop():
    _, steps = watch([look(Probe.NO_LISTENER, started=0.0)] * 3)
    assert not any("loop" in text for step in steps for text in step.tell)


@pytest.mark.parametrize("presence", list(Presence))
def test_what_cannot_be_asked_is_loud_once_and_never_a_strike(presence):
    state, steps = watch([look(Probe.CANNOT_ASK, presence=presence)] * 50)
    assert (restarts(steps), state.strikes) == ([], 0)
    assert {step.health for step in steps} == {Health.CANNOT_ASK}
    assert [len(step.tell) for step in steps] == [1] + [0] * 11 + [1] + [0] * 37
    assert "watched nothing for 60 minutes" in steps[12].tell[0]


def test_a_server_that_says_too_many_requests_is_alive():
    _, steps = watch([look(Probe.SILENT), look(Probe.THROTTLED), look(Probe.SILENT)])
    assert restarts(steps) == []
    assert steps[1].health is Health.THROTTLED


@pytest.mark.parametrize(
    ("before", "after", "health"),
    [
        (Work(generation_tokens=100), Work(generation_tokens=900), Health.BUSY),
        (Work(generation_tokens=100), Work(generation_tokens=900, waiting=7), Health.SATURATED),
        (Work(prompt_tokens=100), Work(prompt_tokens=32_000), Health.BUSY),
        (Work(generation_tokens=5, kv_cache_usage=0.1), Work(5, kv_cache_usage=0.4, running=1), Health.BUSY),
    ],
)
def test_work_that_is_done_for_others_is_no_strike(before, after, health):
    _, steps = watch([look(Probe.SILENT, before=before, after=after)] * 5)
    assert restarts(steps) == []
    assert steps[-1].health is health


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(Work(100, running=2), Work(100, running=2), id="counters that stand still"),
        pytest.param(Work(100), Work(3), id="counters of another process"),
        pytest.param(Work(100), None, id="metrics that no longer answer"),
        pytest.param(
            Work(5, kv_cache_usage=0.4, running=2), Work(5, kv_cache_usage=0.4, running=2), id="full and still"
        ),
        pytest.param(Work(waiting=3, running=0), Work(waiting=3, running=0), id="all waiting, none running"),
        pytest.param(None, None, id="no metrics at all"),
    ],
)
def test_green_pages_and_a_high_utilisation_are_no_life(before, after):
    _, steps = watch([look(Probe.SILENT, before=before, after=after, power_w=90.0)] * 2)
    assert restarts(steps) == [1]


def test_a_counter_of_an_earlier_look_counts_where_the_first_reading_failed():
    _, steps = watch([look(Probe.SILENT, after=Work(100)), look(Probe.SILENT, after=Work(900))])
    assert restarts(steps) == []


def test_a_second_restart_within_the_cooldown_is_held_back_and_told_once():
    wedged = look(Probe.ERROR)
    _, steps = watch([wedged] * 8)
    assert restarts(steps) == [1]
    held_back = [text for step in steps[2:] for text in step.tell]
    assert len(held_back) == 1
    assert "NOT restarted: it was restarted" in held_back[0]


def test_after_the_cooldown_it_may_be_restarted_again_until_the_days_budget_is_spent():
    _, steps = watch([look(Probe.ERROR)] * (12 * 24))
    assert len(restarts(steps)) == POLICY.restarts_per_day
    assert any("budget" in text for step in steps for text in step.tell)


def test_the_budget_comes_back_after_a_day():
    _, steps = watch([look(Probe.ERROR)] * (12 * 49))
    assert len(restarts(steps)) >= 2 * POLICY.restarts_per_day


def test_what_a_person_stopped_stays_stopped_and_is_told_once():
    _, steps = watch([look(Probe.TOKEN), *[look(Probe.NO_LISTENER, presence=Presence.STOPPED)] * 9])
    assert restarts(steps) == []
    assert sum(len(step.tell) for step in steps) == 1


def test_what_ended_by_itself_is_dead_and_is_restarted():
    _, steps = watch([look(Probe.TOKEN), *[look(Probe.NO_LISTENER, presence=Presence.ENDED, started=None)] * 2])
    assert restarts(steps) == [2]
    assert steps[1].health is Health.DEAD


def test_what_pitstop_did_not_launch_is_told_and_not_restarted():
    _, steps = watch([look(Probe.SILENT, presence=Presence.UNKNOWN)] * 3)
    assert restarts(steps) == []
    assert any("did not launch" in text for step in steps for text in step.tell)


def test_a_name_that_does_not_resolve_is_told_and_not_restarted():
    _, steps = watch([look(Probe.UNREACHABLE)] * 3)
    assert restarts(steps) == []
    assert steps[0].health is Health.UNREACHABLE


def test_under_a_lease_it_stands_down_and_forgets_the_strike_before_it():
    silent, leased = look(Probe.SILENT), look(Probe.NO_LISTENER, lease=Lease.HELD)
    _, steps = watch([silent, *[leased] * 50, silent])
    assert restarts(steps) == []
    told = [text for step in steps for text in step.tell if "watched nothing" in text]
    assert told == ["the watchdog has watched nothing for 60 minutes: standing down: the lease is held"]


def test_a_restore_that_is_owed_is_finished():
    _, steps = watch([look(Probe.NO_LISTENER, lease=Lease.OWES)] * 3)
    assert [step.action for step in steps] == [Do.RECOVER] * 3
    assert [len(step.tell) for step in steps] == [1, 0, 0]


def test_recovery_is_told_once():
    _, steps = watch([look(Probe.ERROR), look(Probe.TOKEN), look(Probe.TOKEN)])
    assert [step.tell for step in steps[1:]] == [("generating again",), ()]


# Six hours of life, at random: an engine, its harness, its people and its network. A restart is wrong when the engine
# was not broken at both looks that led to it, or was not the watchdog's to touch.

EVENTS = st.sampled_from(
    ["fine", "fine", "busy", "boot", "wedge", "crash", "stop", "lease", "free", "key", "name", "429", "slow-metrics"]
)


class Life:
    """A box of which the truth is known."""

    def __init__(self):
        self.now = 0.0
        self.started = OLD
        self.tokens = 1000
        self.mode = "fine"
        self.leased = False

    def happen(self, event):
        if event == "lease":
            self.leased = True
        elif event == "free":
            self.leased = False
        elif event == "boot":
            self.started, self.mode, self.tokens = self.now, "boot", 0
        elif event == "fine" and self.mode in {"wedge", "crash", "stop"}:
            pass  # nothing heals by itself
        else:
            self.mode = event

    @property
    def broken(self):
        ripe = self.now - self.started >= POLICY.boot_grace_s
        return not self.leased and (self.mode == "crash" or (self.mode == "wedge" and ripe))

    def look(self):
        before = Work(generation_tokens=self.tokens)
        if self.mode in {"fine", "busy", "key", "429", "slow-metrics"}:
            self.tokens += 50
        if self.mode == "boot" and self.now - self.started > 240:
            self.mode = "fine"
        probe = {
            "fine": Probe.TOKEN,
            "slow-metrics": Probe.TOKEN,
            "busy": Probe.SILENT,
            "boot": Probe.NO_LISTENER,
            "wedge": Probe.SILENT,
            "crash": Probe.NO_LISTENER,
            "stop": Probe.NO_LISTENER,
            "key": Probe.CANNOT_ASK,
            "name": Probe.UNREACHABLE,
            "429": Probe.THROTTLED,
        }[self.mode]
        presence = {"crash": Presence.ENDED, "stop": Presence.STOPPED}.get(self.mode, UP)
        gone = presence is not UP
        return Look(
            probe,
            detail=self.mode,
            presence=presence,
            started_at_s=None if gone else self.started,
            before=None if gone or self.mode == "slow-metrics" else before,
            after=None if gone else Work(generation_tokens=self.tokens),
            lease=Lease.HELD if self.leased else Lease.NONE,
        )


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(EVENTS, st.floats(1.0, 280.0)), min_size=72, max_size=72))
def test_six_hours_of_life_without_one_wrong_restart(events):
    life, state = Life(), WatchState()
    history, restarts_at = [], []
    for index, (event, offset_s) in enumerate(events):
        life.now = index * 300.0 - offset_s
        life.happen(event)
        life.now = index * 300.0
        history.append(life.broken)
        state, step = decide(state, life.look(), POLICY, life.now)
        if step.action is Do.RESTART:
            assert history[-2:] == [True, True], f"restarted a sound engine at look {index}: {events[: index + 1]}"
            assert not restarts_at or life.now - restarts_at[-1] >= POLICY.cooldown_s
            restarts_at.append(life.now)
            state = restarted(state, life.now)
            life.happen("boot")
        elif history[-2:] == [True, True] and state.strikes >= 2:
            assert restarts_at, "a broken engine was left alone without a reason"


looks = st.builds(
    Look,
    st.sampled_from(Probe),
    presence=st.sampled_from(Presence),
    started_at_s=st.none() | st.floats(-1e6, 1e6),
    before=st.none() | st.builds(Work, st.none() | st.integers(0, 9)),
    after=st.none() | st.builds(Work, st.none() | st.integers(0, 9)),
    lease=st.sampled_from(Lease),
)


@given(st.lists(st.tuples(looks, st.floats(-400, 4000)), max_size=40))
def test_whatever_is_seen_strikes_and_restarts_obey_the_rules(sequence):
    state, now = WatchState(), 0.0
    for one, step_s in sequence:
        now += step_s
        before = state
        state, step = decide(before, one, POLICY, now)
        if step.strike:
            assert one.lease is Lease.NONE
            assert one.probe in {Probe.SILENT, Probe.ERROR, Probe.EMPTY, Probe.NO_LISTENER, Probe.UNREACHABLE}
        if step.action is Do.RESTART:
            assert state.strikes >= POLICY.strikes
            assert one.presence in {Presence.UP, Presence.ENDED}
            state = restarted(state, now)
        assert len(state.restarted_at_s) <= POLICY.restarts_per_day + 1
        assert len(state.silent_boots_s) <= 20


def test_a_watchdog_that_only_looks_restarts_nothing():
    _, steps = watch([look(Probe.SILENT)] * 5, replace(POLICY, restart=False))
    assert restarts(steps) == []
