"""Tool calls out of streams, however a server cuts them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.client.exchange import Exchange
from pitstop.client.tool_calls import ToolCall, tool_calls_of

ARGUMENTS = '{"city": "Köln"}'


def body_of(*deltas, place="delta"):
    events = [{"choices": [{"index": 0, place: {"tool_calls": delta}}]} for delta in deltas]
    return Exchange("", body=b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events))


def piece(index=0, call=None, name=None, arguments=None):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    found = {"index": index, "id": call, "function": function}
    return {key: value for key, value in found.items() if value is not None}


@pytest.mark.parametrize(
    "raw",
    [
        body_of([piece(0, "a", "f", ARGUMENTS)]),
        body_of([piece(0, "a", "f", "")], [piece(0, arguments=ARGUMENTS[:5])], [piece(0, arguments=ARGUMENTS[5:])]),
        body_of([piece(0, "a", "f", ARGUMENTS[:5])], [piece(0, "a", "f", ARGUMENTS[5:])]),
        body_of([piece(None, "a", "f", ARGUMENTS)]),
        body_of([piece(None, "a", "f", ARGUMENTS[:5])], [piece(None, arguments=ARGUMENTS[5:])]),
        body_of([piece(0, "a", "f", ARGUMENTS)], place="message"),
        body_of([{"id": "a", "index": 0, "function": {"name": "f", "arguments": {"city": "Köln"}}}]),
    ],
)
def test_one_call_is_one_call_in_every_dialect(raw):
    [call] = tool_calls_of(raw)
    assert (call.id, call.name, json.loads(call.arguments)) == ("a", "f", {"city": "Köln"})


def test_calls_that_are_sent_side_by_side_are_told_apart():
    raw = body_of(
        [piece(0, "a", "f", "{"), piece(1, "b", "g", "{")], [piece(1, arguments="}"), piece(0, arguments="}")]
    )
    assert tool_calls_of(raw) == [ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")]


def test_whole_calls_without_an_index_are_as_many_as_they_are():
    raw = body_of([piece(None, None, "f", "{}"), piece(None, None, "f", "{}")])
    assert tool_calls_of(raw) == [ToolCall("call_0", "f", "{}"), ToolCall("call_1", "f", "{}")]


@pytest.mark.parametrize(
    "delta", [None, [], [None], [{}], ["x"], {"a": 1}, [{"function": None}], [{"function": {"name": 3}}]]
)
def test_what_is_no_call_is_none_or_nameless(delta):
    assert all(not call.name for call in tool_calls_of(body_of(delta)))


@given(st.binary(max_size=400))
def test_no_body_breaks_it(body):
    tool_calls_of(Exchange("", body=b"data: " + body + b"\n\n"))
