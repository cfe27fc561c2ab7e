"""The endpoint that knows the truth must know it: everything else is measured against it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.script import Pace, overridden, script_of

MESSAGES = [{"role": "user", "content": "x" * 40}]
REQUEST = {"messages": MESSAGES, "max_tokens": 60, "stream_options": {"include_usage": True}}


@given(st.floats(5, 2000), st.integers(1, 5), st.integers(0, 4), st.integers(2, 400), st.integers(0, 99))
def test_the_truth_of_a_script_is_its_pace(rate: float, low: int, more: int, tokens: int, seed: int) -> None:
    pace = Pace(rate_tok_s=rate, tokens_per_event=(low, low + more), ttft_s=0.2, seed=seed)
    script = script_of({**REQUEST, "max_tokens": tokens}, pace, "m")
    assert sum(size for _, size in script.events) == tokens == script.truth["tokens"]
    assert script.truth["ttft_s"] == pytest.approx(0.2)
    if len(script.events) > 1:
        assert script.truth["decode_tok_s"] == pytest.approx(rate)


def test_prefill_adds_the_time_that_the_prompt_takes() -> None:
    script = script_of(REQUEST, Pace(ttft_s=0.1, prefill_tok_s=90.0), "m")
    assert (script.prompt_tokens, script.truth["ttft_s"]) == (18, pytest.approx(0.3))


@pytest.mark.parametrize(("shape", "places"), [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1), ("f", 0)])
def test_usage_is_said_once_where_the_shape_wants_it(shape: str, places: int) -> None:
    script = script_of(REQUEST, Pace(usage_shape=shape), "m")
    assert b"".join(frame.data for frame in script.frames).count(b'"completion_tokens":60') == places


def test_flushing_holds_every_frame_back_and_changes_no_truth() -> None:
    plain, held = (script_of(REQUEST, Pace(flush=flush), "m") for flush in (False, True))
    assert plain.truth == held.truth
    assert {frame.due_s for frame in held.frames} == {plain.events[-1][0]}


def test_a_request_overrides_its_pace_and_nothing_else() -> None:
    pace = overridden(Pace(), json.loads('{"paced": {"rate_tok_s": 7, "tokens_per_event": [1, 5], "unknown": 1}}'))
    assert (pace.rate_tok_s, pace.tokens_per_event) == (7, (1, 5))
