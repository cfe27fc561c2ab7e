import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.memory_back import Answer, MemoryPolicy, begin, decide

GIB = 2**30
REPORTED = [31, 31, 48, 90, 117]  # GiB at 5 s steps, after a container that was "Exited (0)"


def answers(trace_gib, policy, step_s=5.0):
    state, found = begin(0.0), []
    for number, gib in enumerate(trace_gib):
        state, judgement = decide(state, round(gib * GIB), policy, number * step_s)
        found.append(judgement)
        if judgement.answer is not Answer.WAIT:
            break
    return found


@pytest.mark.parametrize(
    ("trace", "policy", "answer", "at"),
    [
        (REPORTED, MemoryPolicy(117 * GIB), Answer.BACK, 4),
        (REPORTED, MemoryPolicy(48 * GIB), Answer.BACK, 2),
        ([31] * 121, MemoryPolicy(117 * GIB, timeout_s=600), Answer.TIMEOUT, 120),
        ([31] * 121, MemoryPolicy(None, timeout_s=600, at_least_bytes=60 * GIB), Answer.TIMEOUT, 120),
        # Not known how much there was: settled only after it rose no more for long enough, not at the first pause.
        (
            [*REPORTED, 117, 117, 117, 117, 117],
            MemoryPolicy(None, settle_s=20, at_least_bytes=32 * GIB),
            Answer.SETTLED,
            8,
        ),
        # It recedes a little with every boot: within the tolerance it is back, but the bar is not lowered each time.
        ([112.15], MemoryPolicy(round(112.15 * GIB)), Answer.BACK, 0),
        ([111.95], MemoryPolicy(round(112.15 * GIB)), Answer.BACK, 0),
        ([109.53] * 3, MemoryPolicy(round(112.15 * GIB), timeout_s=10), Answer.TIMEOUT, 2),
        ([117, 31, 31], MemoryPolicy(117 * GIB), Answer.BACK, 0),
    ],
)
def test_traces(trace, policy, answer, at):
    found = answers(trace, policy)
    assert (found[-1].answer, len(found) - 1) == (answer, at)


def test_the_reason_holds_both_numbers():
    last = answers([109.53] * 2, MemoryPolicy(round(110.74 * GIB), timeout_s=5, tolerance=0.001))[-1]
    assert last.answer is Answer.TIMEOUT
    assert "109.53 < 110.74 GiB" in last.reason


@given(st.lists(st.integers(0, 200 * GIB), min_size=1, max_size=80), st.integers(1, 200 * GIB))
def test_it_never_says_back_below_what_was_wanted_and_always_ends(trace, wanted):
    policy = MemoryPolicy(wanted, timeout_s=300)
    state = begin(0.0)
    for number, available in enumerate([*trace, *[trace[-1]] * 80]):
        state, judgement = decide(state, available, policy, number * 5.0)
        if judgement.answer is not Answer.WAIT:
            break
    assert judgement.answer in (Answer.BACK, Answer.TIMEOUT)
    assert (judgement.answer is Answer.BACK) == (available >= wanted * (1 - policy.tolerance))


@given(st.lists(st.integers(0, 200 * GIB), min_size=1, max_size=200))
def test_without_a_wanted_size_it_ends_too_and_never_below_the_floor(trace):
    policy = MemoryPolicy(None, timeout_s=300, settle_s=20, at_least_bytes=50 * GIB)
    state = begin(0.0)
    for number, available in enumerate([*trace, *[trace[-1]] * 80]):
        state, judgement = decide(state, available, policy, number * 5.0)
        if judgement.answer is not Answer.WAIT:
            break
    assert judgement.answer in (Answer.SETTLED, Answer.TIMEOUT)
    assert judgement.answer is Answer.TIMEOUT or available >= policy.at_least_bytes
