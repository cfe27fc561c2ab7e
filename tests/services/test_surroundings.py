"""What was ours and what was not, when some of ours broke off."""

import pytest

from pitstop.client.refusal import Failure
from pitstop.core.documents import RequestRecord
from pitstop.engines.adapter import Counters
from pitstop.engines.since import ForeignTraffic, foreign_traffic
from pitstop.services.surroundings import traffic_of

IDLE = Counters(requests_running=0, requests_finished=10, prompt_tokens=100, generation_tokens=1000)


def request(ok=True, error="", prompt=10, completion=50):
    return RequestRecord(
        ruler="decode", case="c", ok=ok, error=error, prompt_tokens=prompt, completion_tokens=completion
    )


def after(requests, generated):
    return Counters(requests_running=0, requests_finished=10 + requests, generation_tokens=1000 + generated)


BROKEN = request(ok=False, error="broken: the connection was reset", prompt=None, completion=None)
CUT_OFF = request(ok=False, error="timeout: no whole reply within 600 s", completion=30)


@pytest.mark.parametrize("failed", [BROKEN, CUT_OFF])
@pytest.mark.parametrize("counted", [1, 2])
def test_what_a_stream_that_died_had_generated_is_not_foreign(failed, counted):
    """A server may count an aborted request as finished, or not; its tokens count either way."""
    seen = foreign_traffic(IDLE, after(counted, 50 + 444), traffic_of([request(), failed]))
    assert not seen.requests
    assert seen.generation_tokens is None


def test_requests_beyond_all_of_ours_are_foreign_even_when_one_of_ours_died():
    assert foreign_traffic(IDLE, after(5, 900), traffic_of([request(), BROKEN])).requests == 3


@pytest.mark.parametrize("kind", ["unreachable", "key", "unknown-model", "context-too-long", "rejected", "busy"])
def test_a_request_that_was_refused_ran_nowhere(kind):
    assert kind in set(Failure)
    refused = request(ok=False, error=f"{kind}: no", prompt=None, completion=None)
    ours = traffic_of([request(), refused])
    assert foreign_traffic(IDLE, after(1, 50), ours) == ForeignTraffic(0, None, 0, 0, 0)
    assert foreign_traffic(IDLE, after(2, 80), ours).requests == 1


def test_a_reply_without_usage_leaves_tokens_unknown_and_requests_counted():
    ours = traffic_of([request(prompt=None, completion=None)])
    assert foreign_traffic(IDLE, after(1, 50), ours) == ForeignTraffic(0, None, None, 0, 0)
