from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engines.acceptance import acceptance, acceptance_of_replies
from pitstop.engines.adapter import Counters
from pitstop.engines.since import ForeignTraffic, OwnTraffic, foreign_traffic, reset_between, since

COUNTS = st.none() | st.integers(0, 10**9)
GAUGES = ("requests_running", "requests_waiting", "kv_cache_usage", "process_start_s")
counters = st.builds(
    Counters,
    **{f.name: COUNTS for f in fields(Counters) if f.name not in {*GAUGES, "accepted_per_position"}},
    accepted_per_position=st.none() | st.lists(st.integers(0, 10**6), max_size=4).map(tuple),
    requests_running=COUNTS,
    kv_cache_usage=st.none() | st.floats(0, 1),
    process_start_s=st.none() | st.floats(1.7e9, 1.8e9),
)
IDLE = Counters(requests_running=0, requests_waiting=0, requests_finished=10, prompt_tokens=100, generation_tokens=1000)


def test_counts_are_subtracted_and_gauges_are_those_of_afterwards() -> None:
    before = Counters(generation_tokens=10, requests_running=3, kv_cache_usage=0.5)
    after = Counters(generation_tokens=25, requests_running=1, kv_cache_usage=0.25, drafts=4)
    assert since(before, after) == Counters(generation_tokens=15, requests_running=1, kv_cache_usage=0.25)


def test_a_counter_that_went_down_is_a_restart_and_no_count_is_known() -> None:
    before, after = replace(IDLE, drafts=5), replace(IDLE, generation_tokens=3, drafts=9)
    assert "generation_tokens went down from 1000 to 3" in reset_between(before, after)
    assert since(before, after) == Counters(requests_running=0, requests_waiting=0)


def test_a_start_time_that_moved_is_a_restart_even_when_every_counter_grew() -> None:
    before, after = replace(IDLE, process_start_s=1.79e9), replace(IDLE, process_start_s=1.79e9 + 60, prompt_tokens=900)
    assert "moved by 60 s" in reset_between(before, after)
    assert since(before, after).prompt_tokens is None
    assert not reset_between(before, replace(before, process_start_s=1.79e9 + 0.4))


def test_a_reading_that_is_missing_leaves_everything_unknown() -> None:
    for pair in ((None, IDLE), (IDLE, None), (None, None)):
        assert since(*pair) == Counters()
        assert reset_between(*pair) == ""


def test_positions_that_appear_with_the_first_draft_started_at_zero() -> None:
    after = Counters(drafts=4, accepted_per_position=(4, 2))
    assert since(Counters(drafts=0), after).accepted_per_position == (4, 2)
    assert since(Counters(drafts=1, accepted_per_position=(1,)), after).accepted_per_position == (3, 2)
    assert since(Counters(drafts=3), after).accepted_per_position is None


@given(counters, counters)
def test_a_difference_is_never_negative_and_never_made_up(before: Counters, after: Counters) -> None:
    done = since(before, after)
    for field in fields(Counters):
        value = getattr(done, field.name)
        if field.name in GAUGES or value is None:
            continue
        assert getattr(after, field.name) is not None
        assert min(value, default=0) >= 0 if isinstance(value, tuple) else value >= 0


@given(counters)
def test_nothing_happened_between_a_reading_and_itself(reading: Counters) -> None:
    done = since(reading, reading)
    assert all(
        getattr(done, f.name) in {None, 0} for f in fields(Counters) if f.name not in {*GAUGES, "accepted_per_position"}
    )
    assert set(done.accepted_per_position or ()) <= {0}


@given(counters)
def test_acceptance_is_within_its_bounds_or_disagrees_or_is_unknown(delta: Counters) -> None:
    seen = acceptance(delta)
    assert seen.rate is None or seen.disagreement or 0 <= seen.rate <= 1
    assert seen.length is None or seen.length >= 0
    assert all(0 <= share <= 1 for share in seen.per_position or ()) or seen.disagreement


@pytest.mark.parametrize(
    ("delta", "words"),
    [
        (Counters(drafts=10, draft_tokens=30, accepted_tokens=31), "31 accepted of 30"),
        (Counters(drafts=10, draft_tokens=30, accepted_tokens=12, accepted_per_position=(8, 3)), "add up to 11"),
        (Counters(drafts=10, draft_tokens=30, accepted_tokens=12, accepted_per_position=(12, 0)), "12 times in 10"),
    ],
)
def test_counts_that_contradict_each_other_are_named_with_their_numbers(delta: Counters, words: str) -> None:
    assert words in acceptance(delta).disagreement


def test_a_reply_that_counts_its_own_drafts_gives_a_rate_and_no_length() -> None:
    seen = acceptance_of_replies(347, 65)
    assert (round(seen.rate or 0, 3), seen.length) == (0.187, None)
    assert acceptance_of_replies(0, 0).rate is None


def test_requests_beyond_ones_own_are_somebody_elses() -> None:
    after = replace(IDLE, requests_finished=15, generation_tokens=1400, prompt_tokens=190)
    seen = foreign_traffic(IDLE, after, OwnTraffic(3, prompt_tokens=30, generation_tokens=300))
    assert (seen.requests, seen.prompt_tokens, seen.generation_tokens, seen.seen) == (2, 60, 100, True)


def test_where_requests_are_not_counted_the_tokens_tell() -> None:
    before = replace(IDLE, requests_finished=None)
    after = replace(before, generation_tokens=1300)
    assert foreign_traffic(before, after, OwnTraffic(3, generation_tokens=300)).seen is False
    assert foreign_traffic(before, after, OwnTraffic(3, generation_tokens=200)).seen is True


def test_a_request_that_was_under_way_all_the_time_is_seen_too() -> None:
    busy = replace(IDLE, requests_running=1)
    assert foreign_traffic(busy, busy, OwnTraffic(0)).seen is True


def test_a_server_that_counts_late_makes_no_negative_traffic() -> None:
    assert foreign_traffic(IDLE, IDLE, OwnTraffic(3)).requests is None


def test_a_server_that_says_nothing_proves_nothing() -> None:
    assert foreign_traffic(None, None, OwnTraffic(3)) == ForeignTraffic()
    assert ForeignTraffic().seen is None


def test_a_restart_meanwhile_is_told() -> None:
    assert foreign_traffic(IDLE, replace(IDLE, prompt_tokens=1), OwnTraffic(0)).reset
