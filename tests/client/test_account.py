"""Field cases S1, S3, S4 and S6, and their kin."""

from typing import Any

import pytest

from pitstop.client.account import Account, account_of
from pitstop.client.exchange import Fault
from pitstop.client.refusal import Failure
from support.replies import DONE, counted, exchange, said, sse, total

ROLE = said("", role="assistant")


def account(*pieces: tuple[float, Any], max_tokens: int | None = 512, **how: Any) -> Account:
    return account_of(exchange(*pieces, **how), model="m", max_tokens=max_tokens)


def failure(found: Account) -> Failure | None:
    return found.refusal.failure if found.refusal else None


def test_chunks_are_not_tokens() -> None:
    chunks = [(0.5 + i / 10, said("abcd efgh ijkl mnop.")) for i in range(5)]
    found = account((0.05, ROLE), *chunks, (0.9, said(finish="stop")), (0.91, total(21)), (0.91, DONE))
    assert (found.record.completion_tokens, found.record.events, found.decode.tokens_per_event) == (21, 5, 4.2)
    assert found.record.ttft_s == pytest.approx(0.5)
    assert found.record.ttfr_s == pytest.approx(0.05)
    assert found.decode.seed == pytest.approx(50.0)
    assert found.decode.interval is not None
    assert found.decode.interval[0] <= (21 - 4) / 0.4 <= found.decode.interval[1]
    assert found.decode.value == pytest.approx(40.0, rel=0.06)
    assert found.record.tokens_source == "usage"


TEXT = [(0.1, said("Hel")), (0.2, said("lo"))]
STOP = said(finish="stop")
SHAPES: dict[str, list[tuple[float, Any]]] = {
    "a": [*TEXT, (0.2, STOP), (0.3, total(2)), (0.3, DONE)],
    "b": [*TEXT, (0.2, STOP), (0.3, counted({"choices": [{"index": 0, "delta": {}}]}, 2)), (0.3, DONE)],
    "c, finish": [*TEXT, (0.2, counted(STOP, 2)), (0.3, DONE)],
    "c, content": [TEXT[0], (0.2, counted(said("lo", finish="stop"), 2)), (0.3, DONE)],
    "d": [(t, {**chunk, "usage": None}) for t, chunk in [*TEXT, (0.2, STOP)]] + [(0.3, total(2)), (0.3, DONE)],
    "e": [*TEXT, (0.2, STOP), (0.3, total(2)), (0.3, {"choices": []}), (0.3, DONE)],
    "in a choice": [*TEXT, (0.2, {"choices": [{"delta": {}, "finish_reason": "stop",
                    "usage": {"prompt_tokens": 64, "completion_tokens": 2}}]}), (0.3, DONE)],
    "x_groq": [*TEXT, (0.2, {**STOP, "x_groq": {"usage": {"prompt_tokens": 64, "completion_tokens": 2}}}), (0.3, DONE)],
    "after done": [*TEXT, (0.2, STOP), (0.3, DONE), (0.3, total(2))],
    "before the text": [(0.05, counted(ROLE, 0)), *TEXT, (0.2, STOP), (0.3, total(2)), (0.3, DONE)],
    "anthropic names": [*TEXT, (0.2, STOP), (0.3, {"choices": [], "usage": {"input_tokens": 64, "output_tokens": 2}}),
                        (0.3, DONE)],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_usage_counts_wherever_it_sits(shape: str) -> None:
    found = account(*SHAPES[shape])
    assert found.ok
    assert (found.record.completion_tokens, found.record.prompt_tokens, found.answer) == (2, 64, "Hello")


def test_without_usage_tokens_are_unknown_and_there_is_no_rate() -> None:
    found = account(*TEXT, (0.2, STOP), (0.3, DONE))
    assert found.ok
    assert (found.record.completion_tokens, found.record.decode_tok_s, found.record.tokens_source) == (
        None,
        None,
        "none",
    )
    assert "usage" in found.decode.reason


@pytest.mark.parametrize("count", [-5, "many", 2.5, [2], True])
def test_a_count_that_is_none_is_said_to_be_unusable_and_not_missing(count: Any) -> None:
    usage = {"prompt_tokens": 64, "completion_tokens": count}
    found = account(*TEXT, (0.2, STOP), (0.3, {"choices": [], "usage": usage}), (0.3, DONE))
    assert found.record.completion_tokens is None
    assert f"usage-unusable: completion_tokens: {count}" in found.record.anomalies
    assert f"cannot be used (completion_tokens: {count})" in found.decode.reason


def test_a_usable_count_later_on_makes_up_for_an_unusable_one() -> None:
    odd = {"choices": [], "usage": {"completion_tokens": -1}}
    found = account(*TEXT, (0.2, STOP), (0.25, odd), (0.3, total(2)), (0.3, DONE))
    assert (found.record.completion_tokens, found.usage.unusable) == (2, "")


def test_cumulative_usage_is_never_summed() -> None:
    chunks = [(0.1 * n, counted(said("tok "), n)) for n in range(1, 198)]
    found = account(*chunks, (19.8, STOP), (19.8, total(197)), (19.8, DONE))
    assert found.record.completion_tokens == 197
    assert found.decode.exact
    assert found.decode.value == pytest.approx(10.0)
    assert (found.record.first_event_tokens, found.record.tokens_source) == (1, "usage+continuous")


@pytest.mark.parametrize("tokens", [19503, 23870])
def test_more_tokens_than_were_asked_for_are_not_believed(tokens: int) -> None:
    found = account(*TEXT, (0.2, STOP), (0.3, total(tokens)), (0.3, DONE))
    assert any(anomaly.startswith("usage-implausible") for anomaly in found.record.anomalies)


def test_more_reasoning_than_completion_gives_no_negative_answer() -> None:
    usage = {"prompt_tokens": 164, "completion_tokens": 23870, "reasoning_tokens": 23871, "total_tokens": 24034}
    found = account(*TEXT, (0.2, STOP), (0.3, {"choices": [], "usage": usage}), (0.3, DONE), max_tokens=32000)
    assert (found.record.reasoning_tokens, found.answer_tokens) == (23871, 0)
    assert any(anomaly.startswith("reasoning-exceeds-completion") for anomaly in found.record.anomalies)


def test_usage_that_falls_is_told_and_the_largest_counts() -> None:
    found = account(
        (0.1, counted(said("a"), 1)), (0.2, counted(said("b"), 2)), (0.3, STOP), (0.3, total(0)), (0.3, DONE)
    )
    assert found.record.completion_tokens == 2
    assert any(anomaly.startswith("usage-fell") for anomaly in found.record.anomalies)


def test_usage_by_event_that_does_not_add_up_is_a_doubt() -> None:
    chunks = [(0.1 * n, counted(said("tok "), 1)) for n in range(1, 21)]
    found = account(*chunks, (2.0, STOP), (2.0, DONE))
    assert found.record.completion_tokens == 1
    assert any(anomaly.startswith("events-exceed-tokens") for anomaly in found.record.anomalies)
    assert not found.decode.exact


def test_counts_that_are_final_from_the_start_are_not_per_event_counts() -> None:
    chunks = [(0.1 * n, counted(said("tok "), 20)) for n in range(1, 21)]
    found = account(*chunks, (2.0, STOP), (2.0, DONE))
    assert not found.decode.exact
    assert found.decode.interval is not None
    assert found.decode.interval[0] <= 10.0 <= found.decode.interval[1] + 1e-9


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"thinking": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "x"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": "", "reasoning_content": "hm"},
        {"content": None, "reasoning": "hm"},
    ],
)
def test_thoughts_are_found_in_every_field_and_counted_once(delta: dict[str, Any]) -> None:
    found = account((0.1, said(**delta)), (0.5, said("yes")), (0.5, STOP), (0.6, total(2)), (0.6, DONE))
    assert (found.reasoning, found.answer) == ("hm", "yes")
    assert (found.record.ttft_s, found.record.ttfa_s) == (pytest.approx(0.1), pytest.approx(0.5))
    assert [event.channel for event in found.events] == ["reasoning", "answer"]


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 48}}, 48),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, 0),
        ({"prompt_tokens_details": None}, None),
        ({"prompt_tokens_details": {}}, None),
        ({"prompt_cache_hit_tokens": 48, "prompt_cache_miss_tokens": 16}, 48),
        ({"cached_tokens": 48}, 48),
        ({"input_tokens_details": {"cached_tokens": 48}}, 48),
        ({"cache_read_input_tokens": 48}, 48),
        ({"prompt_tokens_details": {"cached_tokens": "many"}}, None),
        ({"prompt_tokens_details": {"cached_tokens": -1}}, None),
        ({"prompt_tokens_details": {"cached_tokens": True}}, None),
    ],
)
def test_cached_tokens_are_known_or_absent_in_every_dialect(usage: dict[str, Any], cached: int | None) -> None:
    assert account(*TEXT, (0.2, STOP), (0.3, total(2, **usage)), (0.3, DONE)).record.cached_tokens == cached


def test_llama_cpp_counts_per_event_in_timings() -> None:
    chunks = [(0.1 * n, {**said("tok "), "timings": {"predicted_n": 2 * n, "cache_n": 5}}) for n in range(1, 11)]
    found = account((0.0, ROLE), *chunks, (1.0, STOP), (1.0, DONE))
    assert (found.record.completion_tokens, found.record.cached_tokens) == (20, 5)
    assert found.record.tokens_source == "timings+timings"
    assert (found.decode.exact, found.record.first_event_tokens) == (True, 2)
    assert found.decode.value == pytest.approx(20.0)


def test_token_ids_count_per_event() -> None:
    chunks = []
    for n in range(1, 11):
        chunk = said("tok tok tok ")
        chunk["choices"][0]["token_ids"] = [1, 2, 3]
        chunks.append((0.1 * n, chunk))
    found = account(*chunks, (1.0, STOP), (1.0, total(30)), (1.0, DONE))
    assert (found.decode.exact, found.record.first_event_tokens) == (True, 3)
    assert found.record.tokens_source == "usage+token_ids"


KEEP_ALIVES = [
    b":\n\n", b": ping - 2024-02-23 06:52:12.876102\r\n\r\n", b": OPENROUTER PROCESSING\n\n", b"data: : keepalive\n\n",
    b"event: ping\ndata:\n\n", b"id: 7\n: ping\n\n", sse({"choices": [{"delta": {}}]}), sse({"choices": []}),
    sse(said("", role="assistant")), sse(said(None, role="assistant")), sse(said(None, tool_calls=[])),
    sse({"choices": [{"index": 0, "delta": {"content": None, "role": None}, "finish_reason": None}]}),
]  # fmt: skip


@pytest.mark.parametrize("noise", KEEP_ALIVES)
def test_what_keeps_a_connection_alive_is_no_token(noise: bytes) -> None:
    found = account((0.01, noise), (0.1, said("a")), (0.15, noise), (0.2, said("b")), (0.2, STOP), (0.9, noise),
                    (1.0, total(2)), (1.0, DONE))  # fmt: skip
    assert found.ok
    assert (found.record.events, found.record.ttft_s, found.answer) == (2, pytest.approx(0.1), "ab")
    assert found.record.last_token_s == pytest.approx(0.2)
    assert found.record.ttfr_s == pytest.approx(0.01)


def test_a_role_event_that_is_counted_already_is_still_no_token() -> None:
    chunks = [(0.1 * n, counted(said("tok "), n + 1)) for n in range(1, 10)]
    found = account((0.01, counted(ROLE, 1)), *chunks, (1.0, STOP), (1.0, total(10)), (1.0, DONE))
    assert found.record.ttft_s == pytest.approx(0.1)


def test_a_counted_token_without_text_is_a_token() -> None:
    chunks = [(0.1 * n, counted(said("tok "), n)) for n in range(2, 10)]
    found = account((0.1, counted(said(""), 1)), *chunks, (0.9, STOP), (0.9, total(9)), (0.9, DONE))
    assert found.record.ttft_s == pytest.approx(0.1)
    assert found.record.events == 9


def test_a_single_token_without_text_arrives_with_the_finish() -> None:
    found = account((0.01, ROLE), (0.4, said("", finish="length")), (0.5, total(1)), (0.5, DONE), max_tokens=1)
    assert (found.record.ttft_s, found.record.completion_tokens) == (pytest.approx(0.4), 1)
    assert "token-without-text" in found.record.anomalies


def test_tool_calls_are_tokens() -> None:
    call = [{"index": 0, "id": "c", "function": {"name": "look", "arguments": ""}}]
    more = [{"index": 0, "function": {"arguments": '{"a":1}'}}]
    found = account((0.1, said(None, tool_calls=call)), (0.2, said(None, tool_calls=more)),
                    (0.2, said(finish="tool_calls")), (0.3, total(9)), (0.3, DONE))  # fmt: skip
    assert (found.record.events, found.tools) == (2, 'look{"a":1}')
    assert found.record.ttfa_s == pytest.approx(0.1)


ERRORS: list[Any] = [
    {"error": {"message": "engine core died", "type": "InternalServerError", "code": 500}},
    {"error": "engine core died"},
    {"object": "error", "message": "engine core died", "code": 500},
    {"detail": "engine core died"},
    {"error": {"message": "engine core died"}, "choices": []},
    {"error": {"message": "engine core died"}, "choices": [{"delta": {}, "finish_reason": "error"}]},
    b'event: error\ndata: {"message":"engine core died"}\n\n',
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_inside_a_200_is_a_failed_request_with_its_reason(error: Any) -> None:
    found = account(*TEXT, (0.3, error), (0.3, DONE))
    assert failure(found) is Failure.STREAM_ERROR
    assert "engine core died" in found.record.error
    assert (found.ok, found.record.decode_tok_s) == (False, None)


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ([*TEXT], Failure.ENDED_EARLY),
        ([], Failure.NOT_A_STREAM),
        ([(0.1, ROLE)], Failure.ENDED_EARLY),
        ([(0.1, b"<html><body>502 Bad Gateway</body></html>")], Failure.NOT_A_STREAM),
        ([(0.1, b'{"choices":[{"message":{"content":"hi"}}],"usage":{"completion_tokens":1}}')], Failure.NOT_A_STREAM),
        ([(0.1, b'{"error":{"message":"no"}}')], Failure.STREAM_ERROR),
        ([*TEXT, (0.3, b"data: {broken\n\n"), (0.3, DONE)], Failure.NOT_JSON),
        ([*TEXT, (0.3, b"data: 17\n\n"), (0.3, DONE)], Failure.NOT_JSON),
        ([*TEXT, (0.3, said(finish="abort")), (0.3, DONE)], Failure.STREAM_ERROR),
        ([*TEXT, (0.3, said(finish="error")), (0.3, total(2)), (0.3, DONE)], Failure.STREAM_ERROR),
        ([(0.1, b"data: " + b"[" * 100_000 + b"\n\n"), (0.3, DONE)], Failure.NOT_JSON),
    ],
)
def test_what_is_no_whole_stream_has_its_own_reason(pieces: list[Any], kind: Failure) -> None:
    found = account(*pieces)
    assert failure(found) is kind
    assert found.record.error.startswith(f"{kind}: ")
    assert found.record.decode_tok_s is None


@pytest.mark.parametrize("fault", [Fault.TRUNCATED, Fault.RESET, Fault.DEADLINE])
def test_a_connection_that_breaks_before_done_is_a_failure_and_after_it_an_anomaly(fault: Fault) -> None:
    assert not account(*TEXT, (0.2, STOP), fault=fault).ok
    assert not account(*TEXT, fault=fault).ok
    found = account(*TEXT, (0.2, STOP), (0.3, total(2)), (0.3, DONE), fault=fault)
    assert found.ok
    assert f"{fault}-after-done" in found.record.anomalies


def test_done_without_its_blank_line_counts() -> None:
    found = account(*TEXT, (0.2, STOP), (0.3, total(2)), (0.3, b"data: [DONE]"))
    assert found.ok
    assert "unterminated-last-event" in found.record.anomalies


def test_half_an_event_at_a_break_is_not_an_event() -> None:
    found = account(*TEXT, (0.2, STOP), (0.3, sse(total(2)).strip()), fault=Fault.TRUNCATED)
    assert (found.ok, found.record.completion_tokens) == (False, None)


def test_the_halves_of_a_character_in_two_events_become_one() -> None:
    pieces = [(0.1, b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n'),
              (0.2, b'data: {"choices":[{"delta":{"content":"\\ude00 \\ud83d"}}]}\n\n')]  # fmt: skip
    found = account(*pieces, (0.2, STOP), (0.3, total(3)), (0.3, DONE))
    assert found.answer == "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"


def test_text_after_done_is_not_said() -> None:
    found = account(*TEXT, (0.2, STOP), (0.3, total(2)), (0.3, DONE), (0.4, said("more")))
    assert (found.answer, found.record.events) == ("Hello", 2)
    assert "data-after-done" in found.record.anomalies


def test_a_key_that_the_server_repeats_is_blotted_out() -> None:
    raw = exchange(*TEXT, (0.3, {"error": {"message": "key sk-123 is out of credit"}}), (0.3, DONE))
    found = account_of(raw, model="m", secret="sk-123")
    assert "sk-123" not in repr(found.record) + repr(found.refusal)


def test_thoughts_that_a_server_keeps_to_itself_are_no_speed() -> None:
    chunks = [(5 + 0.1 * n, said("tok ")) for n in range(20)]
    usage = total(420, completion_tokens_details={"reasoning_tokens": 400})
    found = account(*chunks, (7.0, said(finish="length")), (7.0, usage), (7.0, DONE))
    assert found.decode.value == pytest.approx(10.0)
    assert any(anomaly.startswith("hidden-reasoning: 400") for anomaly in found.record.anomalies)
    assert not any(anomaly.startswith("usage-implausible") for anomaly in found.record.anomalies)


def test_hidden_thoughts_are_part_of_the_first_event_where_the_server_counts_along() -> None:
    chunks = [(5 + 0.1 * n, counted(said("tok "), 401 + n)) for n in range(20)]
    found = account(*chunks, (7.0, STOP), (7.0, total(420)), (7.0, DONE))
    assert (found.decode.exact, found.record.first_event_tokens) == (True, 401)
    assert found.decode.value == pytest.approx(10.0)
