"""GW1, GW3 and GW6: defaults apply only where the client said nothing; otherwise bodies stay as they are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.engine import Engine
from pitstop.core.config.gateway import Route, Sampling
from pitstop.gateway.apis import Api
from pitstop.gateway.rewriting import BadRequest, rewrite, understand

USER = {"role": "user", "content": "Hi"}


def engine(*supports):
    return Engine(kind="vllm", model="big", base_url="http://x/v1", supports=supports)


THINKER = engine("thinking_token_budget")


def sent(fields, route=None, *, api=Api.CHAT, to=THINKER, **defaults):
    body = json.dumps({"model": "mid", "messages": [USER], **fields}).encode()
    return rewrite(understand(api, body), route or Route(engine="a", **defaults), to)


def fields(given, **more):
    return json.loads(sent(given, **more).body)


def test_a_body_without_defaults_and_with_the_engines_own_name_passes_byte_for_byte():
    body = b'{ "messages" : [ ] ,"model":"big", "x":1.0e0,"stream":false , "odd" : "\\u0041" }\n'
    assert rewrite(understand(Api.CHAT, body), Route(engine="a"), THINKER).body == body


def test_only_the_name_changes_otherwise():
    body = b'{ "messages" : [ ] ,"model":"mid", "x":1.0e0, "tool":{"model":"mid"} }'
    wanted = body.replace(b'"mid", ', b'"big", ')
    assert rewrite(understand(Api.CHAT, body), Route(engine="a"), THINKER).body == wanted


@pytest.mark.parametrize("value", [0, None, False, 5, 100000, "x"])
@pytest.mark.parametrize("place", ["", "extra_body", "chat_template_kwargs", "vllm_xargs"])
def test_a_budget_that_the_client_named_is_kept_also_zero_and_null(value, place):
    own = {"thinking_token_budget": value}
    given = {place: own} if place else own
    prepared = sent(given, thinking_token_budget=768)
    assert prepared.budget is None
    got = json.loads(prepared.body)
    assert (got[place] if place else {"thinking_token_budget": got["thinking_token_budget"]}) == own
    assert place == "" or "thinking_token_budget" not in got


@pytest.mark.parametrize(
    ("given", "budget"),
    [
        ({}, 768),
        ({"max_tokens": 2048}, 768),
        ({"max_tokens": 1024}, 768),
        ({"max_tokens": 768}, 512),
        ({"max_completion_tokens": 100}, 50),
        ({"max_tokens": 5000, "max_completion_tokens": 100}, 50),
        ({"max_tokens": 1}, 0),
        ({"max_tokens": -1}, 768),
        ({"extra_body": {"other": 1}}, 768),
        ({"chat_template_kwargs": {"enable_thinking": True}}, 768),
    ],
)
def test_a_budget_is_put_in_at_the_top_level_and_leaves_room_for_an_answer(given, budget):
    assert fields(given, thinking_token_budget=768)["thinking_token_budget"] == budget


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_budget_of_ours_is_always_below_max_tokens(budget, max_tokens):
    put_in = fields({"max_tokens": max_tokens}, thinking_token_budget=budget)["thinking_token_budget"]
    assert 0 <= put_in < max_tokens
    assert put_in <= budget


def test_a_budget_goes_only_to_engines_that_are_declared_to_support_it_and_only_to_chats():
    assert "thinking_token_budget" not in fields({}, thinking_token_budget=768, to=engine())
    for api in (Api.COMPLETIONS, Api.RESPONSES, Api.MESSAGES, Api.EMBEDDINGS):
        assert "thinking_token_budget" not in fields({}, thinking_token_budget=768, api=api)


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([USER], [{"role": "system", "content": "D"}, USER]),
        ([], [{"role": "system", "content": "D"}]),
        ([{"role": "system", "content": "C"}, USER], [{"role": "system", "content": "D\n\nC"}, USER]),
        ([{"role": "developer", "content": "C"}, USER], [{"role": "developer", "content": "D\n\nC"}, USER]),
        ([USER, {"role": "assistant", "content": "A"}, {"role": "system", "content": "C"}, USER],
         [{"role": "system", "content": "D\n\nC"}, USER, {"role": "assistant", "content": "A"}, USER]),
        ([{"role": "system", "content": "1"}, {"role": "developer", "content": "2"},
          {"role": "system", "content": "3"}],
         [{"role": "system", "content": "D\n\n1\n\n2\n\n3"}]),
        ([{"role": "system", "content": [{"type": "text", "text": "P", "cache": 1}], "name": "n"}, USER],
         [{"role": "system", "name": "n",
           "content": [{"type": "text", "text": "D"}, {"type": "text", "text": "P", "cache": 1}]}, USER]),
        ([{"role": "system", "content": None}, USER], [{"role": "system", "content": "D"}, USER]),
        ([{"role": "system"}, USER], [{"role": "system", "content": "D"}, USER]),
        ([{"role": "system", "content": ""}, USER], [{"role": "system", "content": "D"}, USER]),
    ],
)  # fmt: skip
def test_there_is_exactly_one_leading_system_message(messages, wanted):
    assert fields({"messages": messages}, system_prompt="D")["messages"] == wanted


@pytest.mark.parametrize("messages", ["x", None, 3, {}, [3], ["x"], [{"role": "system", "content": 3}]])
def test_messages_that_are_none_go_to_the_engine_as_they_are(messages):
    assert fields({"messages": messages}, system_prompt="D")["messages"] == messages


ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
CONTENTS = st.text() | st.lists(st.fixed_dictionaries({"text": st.text()}))


@given(st.lists(st.fixed_dictionaries({"role": ROLES, "content": CONTENTS})))
def test_no_message_is_lost_and_none_of_the_others_moves(messages):
    got = fields({"messages": messages}, system_prompt="DEFAULT")["messages"]
    assert [message["role"] in ("system", "developer") for message in got] == [True] + [False] * (len(got) - 1)
    assert got[1:] == [message for message in messages if message["role"] not in ("system", "developer")]
    whole = json.dumps(got[0])
    for message in messages:
        if message["role"] in ("system", "developer") and isinstance(message["content"], str):
            assert json.dumps(message["content"])[1:-1] in whole


def test_other_apis_get_the_prompt_where_they_have_it():
    for system, wanted in ((None, "D"), ("C", "D\n\nC"), ([{"type": "text", "text": "C"}], None)):
        got = fields({} if system is None else {"system": system}, api=Api.MESSAGES, system_prompt="D")["system"]
        assert got == (wanted or [{"type": "text", "text": "D"}, {"type": "text", "text": "C"}])
    assert fields({"input": "x"}, api=Api.RESPONSES, system_prompt="D")["instructions"] == "D"
    assert fields({"instructions": "C"}, api=Api.RESPONSES, system_prompt="D")["instructions"] == "D\n\nC"
    developer = [{"role": "developer", "content": "C"}, USER]
    got = fields({"input": developer}, api=Api.RESPONSES, system_prompt="D")
    assert got["input"] == [{"role": "developer", "content": "D\n\nC"}, USER]
    assert "instructions" not in got
    assert "messages" in fields({}, api=Api.COMPLETIONS, system_prompt="D")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {"include_usage": True}),
        ({"stream_options": {}}, {"include_usage": True}),
        ({"stream_options": None}, {"include_usage": True}),
        ({"stream_options": {"include_usage": None}}, {"include_usage": True}),
        ({"stream_options": {"include_usage": False}}, {"include_usage": False}),
        ({"stream_options": {"include_usage": True}}, {"include_usage": True}),
        ({"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
         {"include_usage": True, "continuous_usage_stats": True}),
        ({"stream_options": {"continuous_usage_stats": True, "x": 1}}, {"x": 1, "include_usage": True}),
        ({"stream_options": [1]}, [1]),
    ],
)  # fmt: skip
def test_usage_is_asked_for_and_what_the_client_said_of_it_is_kept(given, wanted):
    prepared = sent({"stream": True, **given})
    assert json.loads(prepared.body)["stream_options"] == wanted
    said = isinstance(given.get("stream_options"), dict) and given["stream_options"].get("include_usage") is not None
    assert prepared.usage_injected == (not said and wanted != [1])


def test_a_request_that_is_not_streamed_gets_no_stream_options():
    for said in ({}, {"stream": False}, {"stream": None}):
        assert "stream_options" not in fields(said)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {"max_tokens": 50}),
        ({"max_tokens": None}, {"max_tokens": 50}),
        ({"max_tokens": 7}, {"max_tokens": 7}),
        ({"max_tokens": 700}, {"max_tokens": 100}),
        ({"max_tokens": -1}, {"max_tokens": 100}),
        ({"max_completion_tokens": 700}, {"max_completion_tokens": 100}),
        ({"max_completion_tokens": 7, "max_tokens": 700}, {"max_completion_tokens": 7, "max_tokens": 100}),
        ({"n_predict": 700}, {"n_predict": 100}),
    ],
)
def test_max_tokens_has_a_default_and_a_limit(given, wanted):
    got = fields(given, max_tokens=50, max_tokens_limit=100)
    assert {key: value for key, value in got.items() if key not in ("model", "messages")} == wanted


@pytest.mark.parametrize("value", ["99999", 1e9, True, [1], {}])
def test_what_is_no_number_does_not_step_over_a_limit(value):
    with pytest.raises(BadRequest, match="whole number"):
        sent({"max_tokens": value}, max_tokens_limit=100)
    assert fields({"max_tokens": value})["max_tokens"] == value  # without a limit it is the engine's business


def test_sampling_defaults_give_way_to_the_clients():
    route = Route(engine="a", sampling=Sampling(temperature=0.6, top_p=0.95, top_k=20))
    got = fields({"temperature": 0, "top_p": None}, route=route)
    assert (got["temperature"], got["top_p"], got["top_k"]) == (0, None, 20)
    assert "top_k" not in fields({}, route=route, api=Api.RESPONSES)
    assert "temperature" not in fields({}, route=route, api=Api.EMBEDDINGS)


@pytest.mark.parametrize(
    ("own", "wanted"),
    [(None, {"a": 1, "b": 2}), ({"a": False}, {"a": False, "b": 2}), ({"c": 3}, {"a": 1, "b": 2, "c": 3})],
)
def test_template_arguments_are_merged_key_by_key_and_the_clients_win(own, wanted):
    given = {} if own is None else {"chat_template_kwargs": own}
    assert fields(given, chat_template_kwargs={"a": 1, "b": 2})["chat_template_kwargs"] == wanted
