import re

from hypothesis import given
from hypothesis import strategies as st

from pitstop.rulers.nonce import DIGITS, Nonces, nonce

run_ids = st.text(max_size=12)
counters = st.integers(0, 10**6)
seeds = st.integers(0, 2**32)


@given(seeds, run_ids, counters)
def test_every_nonce_has_the_same_form_so_that_arms_are_alike(seed, run_id, counter):
    assert re.fullmatch(rf"[1-9][0-9]{{{DIGITS - 1}}}", nonce(seed, run_id, counter))


@given(seeds, run_ids, counters)
def test_a_run_can_be_sent_again_byte_for_byte(seed, run_id, counter):
    assert nonce(seed, run_id, counter) == nonce(seed, run_id, counter)


@given(st.lists(st.tuples(seeds, run_ids, counters), unique=True, min_size=2, max_size=30))
def test_another_seed_run_or_counter_is_another_nonce(keys):
    assert len({nonce(*key) for key in keys}) == len(keys)


def test_nothing_can_be_moved_from_one_part_of_the_key_to_the_next():
    assert nonce(1, "1", 1) != nonce(11, "", 1)
    assert nonce(1, "a1", 1) != nonce(1, "a", 11)


def test_a_run_never_repeats_a_nonce_nor_its_first_block():
    nonces = Nonces(seed=1, run_id="run")
    drawn = [nonces.next() for _ in range(2000)]
    assert len({text[:12] for text in drawn}) == len(drawn)


def test_two_arms_with_the_same_seed_share_no_nonce():
    arms = [Nonces(seed=1, run_id=run) for run in ("arm-a", "arm-b")]
    drawn = [[arm.next() for _ in range(100)] for arm in arms]
    assert not set(drawn[0]) & set(drawn[1])


def test_whoever_forgets_the_run_id_gets_a_cold_cache():
    assert Nonces().next() != Nonces().next()
