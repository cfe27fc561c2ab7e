import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.documents import RequestRecord
from pitstop.engines.adapter import Counters
from pitstop.rulers.integrity import doubts_of_counters, doubts_of_prompt, doubts_of_reply


def reply(tokens=100, *, events=100, text_bytes=400, ok=True, anomalies=()):
    return RequestRecord(
        ruler="decode", case="c", ok=ok, error="" if ok else "reset", completion_tokens=tokens, events=events,
        text_bytes=text_bytes, anomalies=anomalies,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (reply(), ""),
        (reply(events=25), ""),  # speculation: four tokens an event
        (reply(30, events=30, text_bytes=1200), "30 tokens only for 1200 bytes"),
        (reply(3, events=1, text_bytes=60), ""),  # too short to judge
        (reply(0, events=0, text_bytes=0), ""),
        (reply(anomalies=("usage-implausible: 19503 tokens, at most 512 asked for",)), "19503"),
        (reply(anomalies=("keep-alive-as-data", "no-done")), ""),  # odd, and harmless
    ],
)
def test_what_cannot_be_true_is_said_with_its_numbers(record, expected):
    doubts = doubts_of_reply(record)
    assert any(expected in doubt for doubt in doubts) if expected else doubts == ()


def test_a_failed_or_uncounted_reply_is_not_judged():
    assert doubts_of_reply(reply(30, text_bytes=9999, ok=False)) == ()
    assert doubts_of_reply(reply(None)) == ()


@pytest.mark.parametrize(
    ("counted", "finished", "expected"),
    [
        (300, 3, ""),
        (303, 3, ""),  # the closing token of each
        (297, 3, ""),
        (None, 3, ""),
        (150, 3, "went up by 150 only"),
        (600, 3, "counted 600 for the same requests"),
        (600, 9, "somebody else"),
        (600, None, "somebody else"),
    ],
)
def test_the_server_s_counters_are_held_against_its_replies(counted, finished, expected):
    doubts = doubts_of_counters([reply()] * 3, Counters(generation_tokens=counted, requests_finished=finished))
    assert any(expected in doubt for doubt in doubts) if expected else doubts == ()


def test_with_a_failed_request_among_them_the_counters_prove_nothing():
    assert doubts_of_counters([reply(), reply(ok=False)], Counters(generation_tokens=5000)) == ()


@given(st.integers(1, 512), st.data())
def test_honest_accounting_of_any_speculation_is_never_doubted(tokens, data):
    events = data.draw(st.integers(1, tokens))
    text_bytes = data.draw(st.integers(tokens, tokens * 8))
    assert doubts_of_reply(reply(tokens, events=events, text_bytes=text_bytes)) == ()


def prompt(claimed, cached=None, ok=True):
    return RequestRecord(ruler="prefill", case="c", ok=ok, prompt_tokens=claimed, cached_tokens=cached)


@pytest.mark.parametrize(
    ("claimed", "cached", "counted", "finished", "expected"),
    [
        (8000, None, 8000, 1, ""),
        (8000, None, 8001, None, ""),
        (8000, 160, 7840, 1, ""),  # a server that leaves out what it had cached
        (8000, 160, 8000, 1, ""),  # and one that does not
        (8000, None, None, None, ""),
        (8000, None, 800, 1, "8000 prompt tokens, the server's counter went up by 800"),
        (8000, None, 12_000, 1, "went up by 12000"),
        (8000, None, 12_000, 2, "somebody else"),
        (8000, None, 12_000, None, "somebody else"),
        (40_000, None, None, None, "40000 prompt tokens for 32000 bytes"),
        (None, None, 8000, 1, ""),
    ],
)
def test_prompt_tokens_are_held_against_the_counter_and_the_text(claimed, cached, counted, finished, expected):
    done = Counters(prompt_tokens=counted, requests_finished=finished)
    doubts = doubts_of_prompt(prompt(claimed, cached), done, 32_000)
    assert any(expected in doubt for doubt in doubts) if expected else doubts == ()


def test_a_prompt_that_failed_is_not_judged():
    assert doubts_of_prompt(prompt(9, ok=False), Counters(prompt_tokens=0), 1) == ()
