"""The general reader takes anything; the quick one says the same wherever it answers."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.client.account import account_of
from pitstop.client.dialect import error_of, understand
from pitstop.client.usual import understand_usual
from support.replies import exchange

COUNT = st.one_of(st.integers(-2, 2**54), st.none(), st.booleans(), st.floats(), st.text(max_size=2))
TEXT = st.one_of(
    st.text(max_size=6), st.none(), st.just(""), st.lists(st.just({"type": "text", "text": "x"}), max_size=2)
)


def maybe(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


DETAILS = st.one_of(st.none(), maybe({"cached_tokens": COUNT, "reasoning_tokens": COUNT, "x": COUNT}))
USAGE = st.one_of(
    st.none(),
    maybe({"prompt_tokens": COUNT, "completion_tokens": COUNT, "total_tokens": COUNT, "reasoning_tokens": COUNT,
           "prompt_tokens_details": DETAILS, "completion_tokens_details": DETAILS, "cached_tokens": COUNT}),
    st.fixed_dictionaries({"prompt_tokens": st.integers(0, 9), "completion_tokens": st.integers(0, 9)},
                          optional={"total_tokens": st.integers(0, 9), "prompt_tokens_details": DETAILS}),
)  # fmt: skip
CALLS = st.one_of(st.none(), st.just([]), st.just([{"function": {"name": "f", "arguments": "{}"}}]), st.just(7))
DELTA = maybe(
    {
        "role": st.sampled_from(["assistant", "", None]),
        "content": TEXT,
        "reasoning_content": TEXT,
        "reasoning": TEXT,
        "tool_calls": CALLS,
        "refusal": st.sampled_from([None, "no"]),
        "thinking": TEXT,
    }
)
CHOICE = maybe(
    {
        "index": st.just(0),
        "delta": DELTA,
        "finish_reason": st.sampled_from([None, "stop", "", 3]),
        "logprobs": st.sampled_from([None, {"content": [1, 2]}, {}]),
        "stop_reason": st.sampled_from([None, 5, "x"]),
        "token_ids": st.sampled_from([None, [], [1, 2]]),
        "text": TEXT,
        "message": DELTA,
    }
)
EVENT = maybe(
    {
        "choices": st.one_of(st.none(), st.lists(CHOICE, max_size=2)),
        "usage": USAGE,
        "id": st.just("x"),
        "object": st.sampled_from(["chat.completion.chunk", "error", None]),
        "model": st.sampled_from(["m", None]),
        "timings": st.one_of(st.none(), maybe({"predicted_n": COUNT, "cache_n": COUNT, "predicted_ms": COUNT})),
        "created": st.just(1),
        "unknown": st.just(1),
    }
)


@settings(max_examples=400)
@given(EVENT)
def test_the_quick_reader_says_what_the_general_one_says(event: dict[str, Any]) -> None:
    quick = understand_usual(json.dumps(event).encode())
    if quick is not None:
        assert error_of(event) is None
        assert quick == understand(event)


def test_the_quick_reader_takes_the_events_of_vllm_and_llama_cpp() -> None:
    vllm = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {"content": "a", "reasoning": None, "tool_calls": []}, "logprobs": None,
                         "finish_reason": None, "token_ids": None}],
            "usage": {"prompt_tokens": 5, "total_tokens": 6, "completion_tokens": 1}}  # fmt: skip
    llama = {"choices": [{"finish_reason": None, "index": 0, "delta": {"content": "a"}}], "created": 1, "id": "c",
             "model": "m", "system_fingerprint": "b1", "object": "chat.completion.chunk",
             "timings": {"prompt_n": 5, "predicted_n": 1, "predicted_ms": 1.5, "cache_n": 0}}  # fmt: skip
    assert understand_usual(json.dumps(vllm).encode()) is not None
    assert understand_usual(json.dumps(llama).encode()) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["choices", "delta", "content", "usage", "error", "timings", "tool_calls", "function", "index",
                         "completion_tokens", "reasoning_details", "text", "message", "detail", "object", "x_groq",
                         "logprobs", "token_ids", "finish_reason", "model", "role"]),
        inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(JSON, max_size=5), st.booleans())
def test_no_json_whatever_breaks_the_account(events: list[Any], done: bool) -> None:
    pieces: list[tuple[float, Any]] = [
        (0.1 * i, b"data: " + json.dumps(event).encode() + b"\n\n") for i, event in enumerate(events)
    ]
    found = account_of(exchange(*pieces, *([(1.0, b"data: [DONE]\n\n")] if done else [])), model="m", max_tokens=5)
    assert found.ok == (found.refusal is None)
    found.answer.encode()


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_no_bytes_whatever_break_the_account(body: bytes) -> None:
    assert not account_of(exchange((0.1, body)), model="m").ok or b"[DONE]" in body or b"finish_reason" in body
