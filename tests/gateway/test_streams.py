"""S3, S6 and GW3: frames that pass untouched, usage wherever it sits, ends and errors."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.gateway.apis import Api
from pitstop.gateway.sse import Splitter, data_of
from pitstop.gateway.stream_watch import StreamWatch
from pitstop.gateway.usage import Usage, from_reply
from support.scripted_engine import DONE, TALK, USAGE, frame

EOLS = st.sampled_from([b"\n", b"\r\n", b"\r"])
LINES = st.sampled_from(
    [b"data: a", b"data:b", b": ping", b":", b"event: x", b"id: 7", b"data", b'data: {"x":1}', b"retry: 1"]
)


@st.composite
def streams(draw):
    """Frames with one kind of line end each, and the bytes cut anywhere."""
    frames = []
    for _ in range(draw(st.integers(0, 6))):
        eol = draw(EOLS)
        frames.append(eol.join(draw(st.lists(LINES, min_size=1, max_size=3))) + eol + eol)
    text = b"".join(frames)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return frames, [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(streams())
def test_what_goes_in_comes_out_however_it_was_cut(case):
    frames, chunks = case
    splitter = Splitter()
    out = [part for chunk in chunks for part in splitter.feed(chunk)]
    assert b"".join([*out, splitter.rest()]) == b"".join(frames)
    assert events(*out, splitter.rest()) == events(*frames)


def events(*frames):
    return [data for data in map(data_of, frames) if data]


@given(st.binary(max_size=200), st.sets(st.integers(0, 200)))
def test_any_bytes_come_out_as_they_went_in(text, cuts):
    points = sorted({min(cut, len(text)) for cut in cuts})
    watch = StreamWatch(Api.CHAT, hide_usage=False)
    out = b"".join(watch.feed(text[a:b]) for a, b in zip([0, *points], [*points, len(text)], strict=True))
    assert out + watch.rest() == text


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b":\n\n", None),
        (b": ping\r\n\r\n", None),
        (b"data: : keepalive\n\n", None),
        (b"event: ping\ndata:\n\n", None),
        (b"id: 7\n: ping\n\n", None),
        (b"data:x\n\n", b"x"),
        (b"data: x\r\n\r\n", b"x"),
        (b"data: x\r\r", b"x"),
        (b"data: a\ndata: b\n\n", b"a\nb"),
        (b"database: x\n\n", None),
        (b"event: e\ndata: x\nid: 1\n\n", b"x"),
    ],
)
def test_the_data_of_a_frame(raw, data):
    assert data_of(raw) == data


NULLS = [part.replace(b"}\n\n", b', "usage":null}\n\n') for part in TALK]
FIVE_SHAPES = {
    "trailing chunk without choices": [*TALK, frame(None, usage=USAGE)],
    "trailing chunk with an empty delta": [*TALK, frame({}, usage=USAGE)],
    "in the finish chunk": [*TALK[:3], frame({}, "stop", usage=USAGE)],
    "in the last content chunk": [*TALK[:2], frame({"content": "lo"}, "stop", usage=USAGE)],
    "null on every chunk": [*NULLS, frame(None, usage=USAGE)],
    "and then an extra empty chunk": [*TALK[:3], frame({}, "stop", usage=USAGE), frame(None)],
    "cumulative on every chunk": [frame({"content": "Hello"}, usage={**USAGE, "completion_tokens": 1}),
                                  frame({}, "stop", usage=USAGE)],
}  # fmt: skip


def watched(frames, *, hide, api=Api.CHAT):
    watch = StreamWatch(api, hide_usage=hide)
    return watch, b"".join(watch.feed(part) for part in frames) + watch.rest()


@pytest.mark.parametrize("shape", FIVE_SHAPES)
def test_usage_is_found_wherever_it_sits_and_hidden_from_who_did_not_ask(shape):
    frames = [*FIVE_SHAPES[shape], DONE]
    watch, out = watched(frames, hide=True)
    assert (watch.usage.prompt_tokens, watch.usage.completion_tokens) == (7, 2)
    assert b'"usage": {' not in out
    assert b'"usage":{' not in out
    events = [json.loads(data) for data in map(data_of, Splitter().feed(out)) if data and data != b"[DONE]"]
    assert all(event["choices"] for event in events)  # clients read choices[0]
    text = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
    assert text == "Hello"
    assert out.endswith(DONE)
    assert any(event["choices"][0]["finish_reason"] == "stop" for event in events)
    assert watch.ended_properly()
    assert watched(frames, hide=False)[1] == b"".join(frames)


def test_a_server_that_says_nothing_of_usage_leaves_it_unknown():
    watch, out = watched([*TALK, DONE], hide=True)
    assert watch.usage == Usage()
    assert out == b"".join([*TALK, DONE])


def test_content_that_talks_about_usage_is_no_usage():
    tricky = frame({"content": '"usage": {"prompt_tokens": 1} "error" data: [DONE]'})
    watch, out = watched([TALK[0], tricky, *TALK[1:], DONE], hide=True)
    assert watch.usage == Usage()
    assert not watch.error_seen
    assert tricky in out


@pytest.mark.parametrize(
    "delta",
    [
        {"content": ""},
        {"content": None, "tool_calls": []},
        {},
        {"reasoning": "hm"},
        {"reasoning_content": "hm"},
        {"odd": [1]},
    ],
)
def test_nothing_is_dropped_for_being_empty_or_unknown(delta):
    frames = [TALK[0], frame(delta), *TALK[1:], DONE]
    assert watched(frames, hide=True)[1] == b"".join(frames)


@pytest.mark.parametrize(
    ("frames", "has_token"),
    [
        ([TALK[0]], False),
        ([b": ping\n\n", frame({"role": "assistant", "content": ""})], False),
        ([frame({"reasoning": "hm"})], True),
        ([frame({"tool_calls": [{"index": 0}]})], True),
        ([b'data: {"choices":[{"text":"x"}]}\n\n'], True),
        ([b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"x"}}\n\n'], True),
        ([frame(None, usage=USAGE)], False),
    ],
)
def test_the_first_token_is_not_the_first_event(frames, has_token):
    assert watched(frames, hide=False)[0].has_token is has_token


@pytest.mark.parametrize(
    ("api", "last", "proper"),
    [
        (Api.CHAT, DONE, True),
        (Api.CHAT, frame({}, "length"), True),
        (Api.CHAT, frame({"content": "x"}), False),
        (Api.CHAT, b"data: [DONE]", True),
        (Api.MESSAGES, b'event: message_stop\ndata: {"type":"message_stop"}\n\n', True),
        (Api.MESSAGES, b'data: {"type":"content_block_delta"}\n\n', False),
        (Api.RESPONSES, b'data: {"type":"response.completed","response":{}}\n\n', True),
    ],
)
def test_an_end_is_told_from_a_break(api, last, proper):
    assert watched([TALK[1], last], hide=False, api=api)[0].ended_properly() is proper


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ({"usage": {"prompt_tokens": 1, "completion_tokens": 2}}, (1, 2, None, None)),
        ({"usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3}}, (1, 2, None, 3)),
        ({"usage": {"completion_tokens": 23870, "reasoning_tokens": 23871}}, (None, 23870, 23871, None)),
        ({"usage": {"completion_tokens_details": {"reasoning_tokens": 4},
                    "prompt_tokens_details": {"cached_tokens": 5}}},
         (None, None, 4, 5)),
        ({"response": {"usage": {"input_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}}}},
         (1, None, 0, None)),
        ({"type": "message_start", "message": {"usage": {"input_tokens": 9}}}, (9, None, None, None)),
        ({"usage": {"prompt_tokens": "7", "completion_tokens": -1, "reasoning_tokens": True}}, (None,) * 4),
        ({"usage": {"prompt_tokens_details": None, "completion_tokens_details": [1]}}, (None,) * 4),
        ({"usage": []}, (None,) * 4), ([], (None,) * 4), (None, (None,) * 4),
    ],
)  # fmt: skip
def test_every_shape_of_usage_is_read_and_nothing_is_made_up(reply, wanted):
    usage = from_reply(reply)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens, usage.cached_tokens) == wanted
