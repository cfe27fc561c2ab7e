"""Whatever words a server refuses with, the reason is one of ours."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.client.endpoint import ChatRequest
from pitstop.client.exchange import Exchange, Fault
from pitstop.client.negotiate import Agreement, UsageMode, payload, step_down
from pitstop.client.refusal import Failure, Refusal, refusal_of


def refused(status: int, body: Any, **fields: Any) -> Refusal:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = refusal_of(Exchange(url="http://x/v1/chat/completions", status=status, body=raw, **fields), "gpt-x")
    assert found is not None
    return found


def openai(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "BadRequestError", "param": None, **more}}


MODEL = [
    (404, openai("The model `gpt-x` does not exist.", code=404)),
    (404, {"object": "error", "message": "The model `gpt-x` does not exist.", "code": 404}),
    (404, openai('model "gpt-x" not found, try pulling it first')),
    (400, openai("invalid model name passed in model=gpt-x")),
    (400, openai("The requested thing is unknown", code="model_not_found")),
    (400, openai("model 'gpt-x' not found")),
    (422, openai("no", param="model")),
]
CONTEXT: list[tuple[Any, int | None, int | None]] = [
    (openai("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4488 in the "
            "messages, 512 in the completion). Please reduce the length of the messages or completion."), 5000, 4096),
    (openai("This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please "
            "reduce the length of the input messages."), 5000, 4096),
    (openai("'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context length is 4096 "
            "tokens and your request has 4000 input tokens (512 > 4096 - 4000)."), 4000, 4096),
    ({"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}}, 5000, 4096),
    (openai("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"), 5000, 4096),
    (openai("The input (5000 tokens) is longer than the model's context length (4096 tokens)."), 5000, 4096),
    (openai("Requested token count exceeds the model's maximum context length of 4,096 tokens. You requested a total "
            "of 5,000 tokens: 4488 tokens from the input messages and 512 tokens for the completion."), 5000, 4096),
    (openai("Prompt contains 5000 tokens and 0 draft tokens, too large for model with 4096 maximum context length"),
     5000, 4096),
    (openai("too much", code="context_length_exceeded"), None, None),
    (openai("Input is too long for requested model."), None, None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), MODEL)
def test_an_unknown_model_is_recognised(status: int, body: Any) -> None:
    assert refused(status, body).failure is Failure.MODEL


@pytest.mark.parametrize(("body", "requested", "limit"), CONTEXT)
def test_too_long_for_the_context_says_both_numbers_when_given(
    body: Any, requested: int | None, limit: int | None
) -> None:
    found = refused(400, body)
    assert found.failure is Failure.CONTEXT
    assert (found.requested_tok, found.limit_tok) == (requested, limit)
    if requested:
        assert f"needs {requested} tokens" in found.text
        assert f"holds {limit}" in found.text


OTHERS = [
    (401, openai("Incorrect API key provided: sk-secret"), Failure.KEY),
    (403, b"", Failure.KEY),
    (429, openai("rate limit"), Failure.BUSY),
    (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, Failure.BUSY),
    (500, openai("cuda resumed prefill failed"), Failure.SERVER),
    (502, b"<html>bad gateway</html>", Failure.SERVER),
    (404, b"", Failure.REJECTED),
    (404, {"detail": "Not Found"}, Failure.REJECTED),
    (405, b"no", Failure.REJECTED),
    (400, openai("temperature must be below 2"), Failure.REJECTED),
    (400, openai("this model does not support tools"), Failure.REJECTED),
    (418, b"\xff\xfe", Failure.REJECTED),
    (400, [openai("Bad")], Failure.REJECTED),
    (400, openai("Unrecognized request argument supplied: stream_options"), Failure.FIELDS),
    (422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}, Failure.FIELDS),
    (500, openai("unexpected keyword argument 'include_usage'"), Failure.FIELDS),
]


@pytest.mark.parametrize(("status", "body", "kind"), OTHERS)
def test_every_other_refusal_has_its_own_reason(status: int, body: Any, kind: Failure) -> None:
    found = refused(status, body)
    assert found.failure is kind
    assert found.text


def test_what_a_server_says_about_a_key_is_not_repeated() -> None:
    assert "sk-secret" not in repr(refused(401, openai("Incorrect API key provided: sk-secret")))


def test_a_redirect_names_its_aim() -> None:
    found = refused(307, b"", headers=(("location", "https://elsewhere/v1"),))
    assert (found.failure, "https://elsewhere/v1" in found.text) == (Failure.REDIRECT, True)


@pytest.mark.parametrize("fault", list(Fault))
def test_every_fault_has_a_failure(fault: Fault) -> None:
    assert refused(200, b"", fault=fault, reason="it broke").text == "it broke"


@given(st.integers(100, 599).filter(lambda status: status != 200), st.binary(max_size=200))
def test_no_body_whatever_breaks_the_reading(status: int, body: bytes) -> None:
    assert refused(status, body).failure in Failure


@given(st.text(max_size=300))
def test_no_message_whatever_breaks_the_reading(message: str) -> None:
    assert refused(400, openai("maximum context length " + message)).failure is Failure.CONTEXT


# -- the ladder

REQUEST = ChatRequest(({"role": "user", "content": "x"},), 16, extra={"seed": 1})
FIELDS = Refusal(Failure.FIELDS, "", "stream_options")


def test_each_step_asks_for_less() -> None:
    best = Agreement()
    bodies = []
    at: Agreement | None = best
    while at is not None:
        bodies.append(json.loads(payload(REQUEST, "m", at)))
        at = step_down(at, FIELDS)
    assert [body.get("stream_options") for body in bodies] == [
        {"include_usage": True, "continuous_usage_stats": True}, {"include_usage": True}, None,
    ]  # fmt: skip
    assert all((body["stream"], body["seed"], body["model"]) == (True, 1, "m") for body in bodies)


def test_a_rejection_without_a_reason_is_tried_with_less_until_something_was_accepted() -> None:
    rejected = Refusal(Failure.REJECTED, "", "Bad Request")
    lower = step_down(Agreement(), rejected)
    assert lower is not None
    assert lower.usage is UsageMode.AT_END
    assert step_down(Agreement(settled=True), rejected) is None


@pytest.mark.parametrize("kind", sorted(set(Failure) - {Failure.FIELDS, Failure.REJECTED}))
def test_a_real_error_stays_an_error(kind: Failure) -> None:
    assert step_down(Agreement(), Refusal(kind, "", "")) is None


def test_timings_are_dropped_only_when_they_are_meant() -> None:
    asked = Agreement(timings=True)
    assert json.loads(payload(REQUEST, "m", asked))["timings_per_token"] is True
    assert step_down(asked, Refusal(Failure.FIELDS, "", "timings_per_token")) == Agreement()
    assert step_down(asked, FIELDS) == Agreement(usage=UsageMode.AT_END, timings=True)


def test_what_the_caller_set_wins_but_the_stream() -> None:
    request = ChatRequest((), 16, None, {"stream": False, "max_tokens": 9, "stream_options": {}})
    body = json.loads(payload(request, "m", Agreement()))
    assert (body["stream"], body["max_tokens"], body["stream_options"], "temperature" in body) == (True, 9, {}, False)
