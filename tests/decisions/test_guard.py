import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.guard import Cause, GuardPolicy, GuardState, Reading, decide, sleep_s

KIB, MIB, GIB = 2**10, 2**20, 2**30
FLOOR = GuardPolicy(min_available_bytes=12_000 * MIB, max_swap_growth_bytes=8_000 * MIB)


def reading(available_mib, *, free_mib=500, swap_total_mib=16_000, swap_used_mib=0):
    return Reading(available_mib * MIB, free_mib * MIB, swap_total_mib * MIB, (swap_total_mib - swap_used_mib) * MIB)


def play(policy, readings, step_s=1.0):
    state, decision = GuardState(), None
    for index, one in enumerate(readings):
        state, decision = decide(state, one, policy, index * step_s)
        if decision.kill:
            return index, decision
    return None, decision


def test_one_sample_below_the_hard_floor_kills():
    index, decision = play(FLOOR, [reading(17_000), reading(11_999)])
    assert (index, decision.cause) == (1, Cause.FLOOR)
    assert "11999 MiB (12.58 GB)" in decision.reason
    assert "12000 MiB (12.58 GB)" in decision.reason


def test_exactly_the_floor_is_not_below_it():
    assert play(FLOOR, [reading(12_000)] * 5)[0] is None


@pytest.mark.parametrize(("floor_bytes", "killed_at"), [(6 * GIB, 4), (6 * 10**9, None), (4 * GIB, None)])
def test_the_recorded_descent_around_six_gigabytes_is_judged_by_the_unit(floor_bytes, killed_at):
    """7488 … 6018 MiB as /proc/meminfo's kB: below 6 GiB, above 6 GB."""
    trace = [Reading(kib * KIB) for kib in (7_667_712, 7_642_112, 7_455_744, 6_923_264, 6_162_432)]
    assert play(GuardPolicy(min_available_bytes=floor_bytes), trace, step_s=5)[0] == killed_at


def test_swap_growth_kills_while_available_still_looks_good():
    index, decision = play(FLOOR, [reading(20_000, swap_used_mib=used) for used in (3_000, 9_000, 11_000, 11_001)])
    assert (index, decision.cause) == (3, Cause.SWAP)


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param([reading(20_000, free_mib=1)] * 4, id="low MemFree alone"),
        pytest.param([reading(20_000, swap_used_mib=15_999)] * 4, id="swap already used"),
        pytest.param([reading(20_000, swap_total_mib=0)] * 4, id="no swap at all"),
        pytest.param(
            [reading(20_000, swap_total_mib=0), reading(20_000, swap_total_mib=64_000)], id="swap added later"
        ),
        pytest.param(
            [
                reading(20_000, swap_used_mib=9_000),
                reading(20_000, swap_total_mib=0),
                reading(20_000, swap_used_mib=9_000),
            ],
            id="swap off and on again",
        ),
        pytest.param([Reading()] * 4, id="nothing readable"),
        pytest.param([reading(20_000), Reading(), Reading(swap_total_bytes=1), reading(20_000)], id="torn in between"),
        pytest.param(
            [reading(100_000), reading(13_000), reading(13_000)], id="one big step that stops above the floor"
        ),
        pytest.param(
            [reading(m) for m in (12_300, 12_200, 12_100, 12_050, 12_001)], id="a gentle fall above the floor"
        ),
    ],
)
def test_no_reason_to_kill(trace):
    assert play(FLOOR, trace)[0] is None


def test_swap_that_was_used_before_the_guard_began_is_no_growth_even_when_first_read_late():
    assert play(FLOOR, [Reading(20_000 * MIB), reading(20_000, swap_used_mib=15_000)])[0] is None


def test_a_slope_that_crosses_before_the_next_reading_kills_ahead_of_the_crossing():
    """20 GB/s near the floor: 100 ms and the reaction are worth 2.4 GB, more than what is left."""
    trace = [reading(18_000 - 2_000 * n) for n in range(4)]
    index, decision = play(FLOOR, trace, step_s=0.1)
    assert decision.cause is Cause.SLOPE
    assert trace[index].available_bytes >= FLOOR.min_available_bytes
    assert "before the next reading" in decision.reason


def test_the_same_slope_far_from_the_floor_only_makes_it_look_sooner():
    state = GuardState()
    for n in range(4):
        one = reading(40_000 - 2_000 * n)
        state, decision = decide(state, one, FLOOR, n * 0.1)
    assert not decision.kill
    assert sleep_s(state, one, FLOOR) < 0.7 < sleep_s(GuardState(), one, FLOOR)


def test_the_soft_floor_needs_its_samples_in_a_row():
    policy = GuardPolicy(min_available_bytes=8_000 * MIB, soft_available_bytes=12_000 * MIB, soft_samples=3)
    low, high = reading(11_000), reading(13_000)
    assert play(policy, [low, low, high, low, low, high])[0] is None
    index, decision = play(policy, [low, low, high, low, low, low])
    assert (index, decision.cause) == (5, Cause.SOFT_FLOOR)


def test_looking_again_with_the_same_state_takes_a_kill_back_when_memory_is_there_again():
    before, _ = decide(GuardState(), reading(15_000), FLOOR, 0.0)
    _, first = decide(before, reading(11_000), FLOOR, 1.0)
    _, again = decide(before, reading(15_000), FLOOR, 1.001)
    assert first.kill
    assert not again.kill


@pytest.mark.parametrize(
    ("available_mib", "expected_s"),
    [
        (100_000, 1.0),
        (17_700, pytest.approx(0.996, abs=0.005)),
        (13_000, pytest.approx(0.175, abs=0.001)),
        (12_001, 0.1),
        (1, 0.1),
    ],
)
def test_it_looks_sooner_the_nearer_the_floor(available_mib, expected_s):
    assert sleep_s(GuardState(), reading(available_mib), FLOOR) == expected_s


def test_swap_near_its_limit_makes_it_look_sooner_and_swap_that_is_full_does_not():
    state, _ = decide(GuardState(), reading(50_000), FLOOR, 0.0)
    assert sleep_s(state, reading(50_000, swap_used_mib=7_900), FLOOR) < 0.2
    assert sleep_s(state, reading(50_000, swap_total_mib=4_000, swap_used_mib=4_000), FLOOR) == 1.0


maybe = st.none() | st.integers(0, 2**40)
readings = st.builds(Reading, maybe, maybe, maybe, maybe)
steps = st.lists(st.tuples(readings, st.floats(0, 10)), max_size=30)


@given(steps)
def test_any_trace_is_judged_without_an_exception_and_slept_within_bounds(trace):
    state, now = GuardState(), 0.0
    for one, step in trace:
        now += step
        state, decision = decide(state, one, FLOOR, now)
        assert FLOOR.shortest_sleep_s <= sleep_s(state, one, FLOOR) <= FLOOR.interval_s
        assert math.isfinite(state.fall_bytes_s)
        below = one.available_bytes is not None and one.available_bytes < FLOOR.min_available_bytes
        assert decision.kill or not below


@given(steps)
def test_nothing_kills_while_available_is_far_and_swap_is_within_its_limit(trace):
    state, now = GuardState(), 0.0
    for one, step in trace:
        now += step
        calm = Reading(100 * GIB + (one.available_bytes or 0) // 2**10, one.free_bytes, 8_000 * MIB, 8_000 * MIB)
        state, decision = decide(state, calm, FLOOR, now)
        assert not decision.kill
