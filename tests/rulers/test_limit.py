import pytest

from pitstop.client.chat import Reply
from pitstop.core.documents import RequestRecord, Status
from pitstop.engines.acceptance import Acceptance, acceptance
from pitstop.engines.adapter import Counters
from pitstop.rulers.figures import Measured
from pitstop.rulers.limit import Reads, held_against

READS = Reads(273e9, 2_730_000_000, "told")  # 100 steps a second
MEASURED = Measured("decode", "c", "usage")
SPECULATING = acceptance(Counters(drafts=100, draft_tokens=300, accepted_tokens=150))  # 2.5 tokens a step


def reply(tokens=100, events=100, ok=True):
    return Reply(RequestRecord(ruler="decode", case="c", ok=ok, completion_tokens=tokens, events=events))


def held(value, *, replies=(), accepted=Acceptance(), reads=READS, **fields):  # noqa: B008 - frozen
    [figure] = held_against(reads, [MEASURED.figure("decode_tok_s", [value], **fields)], replies or [reply()], accepted)
    return figure


def test_one_token_a_step_without_speculation():
    figure = held(50.0)
    assert (figure.detail["limit_tok_s"], figure.detail["share_of_limit"]) == (100.0, 0.5)
    assert (figure.status, figure.reason) == (Status.OK, "")


def test_above_the_limit_is_unverified_with_the_numbers():
    figure = held(120.0)
    assert figure.status is Status.UNVERIFIED
    assert "120.0 tok/s is 120% of what the memory can do (100.0 tok/s" in figure.reason


def test_speculation_raises_the_limit_by_the_mean_accepted_length():
    figure = held(240.0, accepted=SPECULATING)
    assert figure.detail["limit_tok_s"] == pytest.approx(250)
    assert figure.status is Status.OK
    assert "1 + accepted" in figure.detail["limit_from"]
    assert held(260.0, accepted=SPECULATING).status is Status.UNVERIFIED


def test_speculation_that_no_counter_tells_of_is_seen_in_the_events():
    figure = held(
        240.0, replies=[reply(300, 100), reply(300, 100), reply(None, 100), reply(300, 0), reply(9, 1, False)]
    )
    assert figure.detail["limit_tok_s"] == pytest.approx(300)
    assert "as many as an event carried" in figure.detail["limit_from"]


def test_a_rate_that_may_be_lower_given_how_it_was_counted_is_not_doubted():
    assert held(102.0, bounds=[(97.0, 103.0)]).status is Status.OK
    assert held(102.0, bounds=[(101.0, 103.0)]).status is Status.UNVERIFIED


def test_an_invalid_figure_stays_invalid_and_keeps_its_reason():
    figure = held(120.0, invalid="another engine")
    assert figure.status is Status.INVALID
    assert figure.reason.startswith("another engine; ")


def test_what_is_no_decode_rate_or_not_known_is_left_alone():
    ttft, nothing = MEASURED.figure("ttft_s", [0.1]), MEASURED.unavailable("decode_tok_s", "no usage")
    assert held_against(READS, [ttft, nothing], [reply()], Acceptance()) == [ttft, nothing]
    plain = MEASURED.figure("decode_tok_s", [500.0])
    assert held_against(None, [plain], [reply()], Acceptance()) == [plain]
