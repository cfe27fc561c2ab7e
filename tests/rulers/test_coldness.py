import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.documents import RequestRecord, Status
from pitstop.engines.adapter import Counters
from pitstop.rulers.coldness import Coldness, judge, worst


def reply(cached=None, prompt=8000):
    return RequestRecord(ruler="prefill", case="pp8000", ok=True, prompt_tokens=prompt, cached_tokens=cached)


CASES = [
    # cached_tokens, prefix hits, prefix queries, block -> status
    (0, None, None, None, Status.OK),
    (16, None, None, None, Status.OK),  # one block: the template's opening
    (17, None, None, None, Status.INVALID),
    (4, None, None, 1, Status.OK),  # llama.cpp caches token by token and always finds the template
    (528, None, None, 528, Status.UNVERIFIED),  # one block of a hybrid model, but 7 % of the prompt
    (160, None, None, 528, Status.OK),
    (7984, None, None, None, Status.INVALID),
    (None, None, None, None, Status.UNVERIFIED),
    (None, 0, 8000, None, Status.OK),
    (None, 7984, 8000, None, Status.INVALID),
    (None, 7984, 16000, None, Status.UNVERIFIED),  # somebody else's prompt was looked up too
    (0, 7984, 8000, None, Status.UNVERIFIED),  # the reply denies what the counters saw
    (7984, 0, 8000, None, Status.INVALID),
    (None, None, 8000, None, Status.UNVERIFIED),
]


@pytest.mark.parametrize(("cached", "hits", "queries", "block", "status"), CASES)
def test_a_prompt_is_cold_only_when_the_server_says_so(cached, hits, queries, block, status):
    verdict = judge(reply(cached), Counters(prefix_hits_tok=hits, prefix_queries_tok=queries), block)
    assert verdict.status is status
    assert bool(verdict.reason) == (status is not Status.OK)


def test_a_short_prompt_with_one_cached_block_is_not_proved_cold():
    assert judge(reply(16, prompt=128), Counters(), None).status is Status.UNVERIFIED


counts = st.none() | st.integers(0, 40_000)


@given(counts, counts, counts, st.none() | st.integers(0, 2000), st.none() | st.integers(1, 40_000))
def test_silence_never_proves_anything(cached, hits, queries, block, prompt):
    verdict = judge(reply(cached, prompt), Counters(prefix_hits_tok=hits, prefix_queries_tok=queries), block)
    if cached is None and hits is None:
        assert verdict.status is Status.UNVERIFIED
    if verdict.status is Status.OK:
        assert verdict.cached_tok is not None
        assert verdict.cached_tok <= max(block or 0, 16)


def test_one_warm_run_makes_the_figure_warm():
    cold, unproved, warm = (Coldness(s, "r") for s in (Status.OK, Status.UNVERIFIED, Status.INVALID))
    assert worst([cold, unproved, warm]) is warm
    assert worst([cold, unproved]) is unproved
