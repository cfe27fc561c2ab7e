from dataclasses import replace

import pytest

from pitstop.client.chat import Reply
from pitstop.core.documents import RequestRecord
from pitstop.rulers import lateness
from pitstop.rulers.lateness import decode_lateness, first_token_lateness


@pytest.fixture(autouse=True)
def _as_shipped(monkeypatch):
    monkeypatch.setattr(lateness, "MOST_SHARE", 0.01)


def reply(late_s, *, ttft_s=1.0, last_s=3.0):
    record = RequestRecord(ruler="r", case="c", ok=True, ttft_s=ttft_s, last_token_s=last_s)
    return replace(Reply(record), client_late_s=late_s)


@pytest.mark.parametrize(
    ("late_s", "decode", "first_token"),
    [(0.0, False, False), (0.004, False, False), (0.011, False, True), (0.021, True, True)],
)
def test_a_delay_of_more_than_one_percent_is_the_tool_s_own_limit(late_s, decode, first_token):
    assert bool(decode_lateness([reply(0.0), reply(late_s)])) is decode
    assert bool(first_token_lateness([reply(late_s)])) is first_token


def test_a_delay_within_the_promised_five_milliseconds_is_none_however_short_the_time():
    assert first_token_lateness([reply(0.005, ttft_s=0.02)]) == ()
    assert "6 ms in 20 ms" in first_token_lateness([reply(0.006, ttft_s=0.02)])[0]


def test_a_reply_without_times_is_not_judged():
    assert decode_lateness([reply(0.5, ttft_s=None, last_s=None)]) == ()
    assert first_token_lateness([reply(0.5, ttft_s=None, last_s=None)]) == ()
    assert decode_lateness([]) == ()
