"""Calls of tools: right tool, right arguments, right order, none where none is needed; malformed is not wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.client.tool_calls import ToolCall
from pitstop.rulers.quality.calls import answer_to, judge_calls, same
from pitstop.rulers.quality.keys import Call, ToolKey
from pitstop.rulers.quality.task_set import TASKS
from pitstop.rulers.quality.tool_tasks import CLOCK, WEATHER

KEY = ToolKey((Call("get_weather", {"city": "Oslo"}, {"unit": "C"}),), (WEATHER, CLOCK))
NONE = ToolKey((), (WEATHER,))


def call(name, arguments):
    return ToolCall("1", name, arguments if isinstance(arguments, str) else json.dumps(arguments))


WRITTEN = [
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Oslo"}\n```',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">',
    '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>',
    "<|channel|>analysis<|message|>I need it.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather",
    '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>',
    '<TOOLCALL>[{"name": "get_weather"}]</TOOLCALL>',
    '>>>get_weather\n{"city": "Oslo"}',
    'Action: get_weather\nAction Input: {"city": "Oslo"}',
    "{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}",
    '{"tool": "get_weather", "city": "Oslo"}',
    '{"action": "get_weather", "action_input": {"city": "Oslo"}}',
    '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}',
]


@pytest.mark.parametrize("answer", WRITTEN)
def test_a_call_in_the_form_of_a_template_is_malformed_and_not_only_missing(answer):
    assert judge_calls(KEY, [], answer).malformed


@pytest.mark.parametrize("answer", ["get_weather would tell.", "The tool get_weather (one of them) is idle.", "{}"])
def test_to_speak_of_a_tool_is_no_call(answer):
    mark = judge_calls(KEY, [], answer)
    assert (mark.right, mark.malformed) == (False, False)
    assert judge_calls(NONE, [], answer).right


@pytest.mark.parametrize(
    ("key", "calls", "answer", "right", "malformed"),
    [
        (KEY, [call("get_weather", {"city": "Oslo"})], "", True, False),
        (KEY, [call("get_weather", {"city": " oslo "})], "", True, False),
        (KEY, [call("get_weather", {"city": "Oslo", "unit": "C"})], "", True, False),
        (KEY, [call("get_weather", {"city": "Oslo", "unit": "F"})], "", False, False),
        (KEY, [call("get_weather", {"city": "Oslo", "more": 1})], "", False, False),
        (KEY, [call("get_weather", {"city": "Bergen"})], "", False, False),
        (KEY, [call("get_weather", {})], "", False, False),
        (KEY, [call("get_time", {"city": "Oslo"})], "", False, False),
        (KEY, [call("get_weather", {"city": "Oslo"})] * 2, "", False, False),
        (KEY, [], "It is cloudy.", False, False),
        (KEY, [call("get_wether", {"city": "Oslo"})], "", False, True),
        (KEY, [call("get_weather", "{city: Oslo}")], "", False, True),
        (KEY, [call("get_weather", '["Oslo"]')], "", False, True),
        (KEY, [call("get_weather", '{"city": "Oslo"}{"city": "Oslo"}')], "", False, True),
        (KEY, [], '<tool_call>{"name": "get_weather"}</tool_call>', False, True),
        (KEY, [], '{"name": "get_weather", "arguments": {"city": "Oslo"}}', False, True),
        (KEY, [], '{"name": "get_weather", "args" : {"city": "Oslo"}}', False, True),
        (KEY, [], "get_weather(city='Oslo')", False, True),
        (KEY, [], "<think>I could call get_weather(city='Oslo').</think>It is cloudy.", False, False),
        (KEY, [call("get_weather", {"city": "Oslo"})], "I called get_weather(city='Oslo').", True, False),
        (KEY, [call("get_weather", {"city": "Oslo"})], '<tool_call>{"name": "get_time"}</tool_call>', False, True),
        (NONE, [], '<tool_call>{"name": "get_weather"}</tool_call> 7', False, True),
        (NONE, [], "7", True, False),
        (NONE, [call("get_weather", {"city": "Oslo"})], "7", False, False),
    ],
)
def test_calls_are_judged(key, calls, answer, right, malformed):
    mark = judge_calls(key, calls, answer)
    assert (mark.right, mark.malformed) == (right, malformed)
    assert right or mark.reason


@pytest.mark.parametrize(
    ("told", "right", "equal"),
    [(20, 20.0, True), ("20", 20, False), (True, 1, False), (None, None, True), ([1, 2], [2, 1], False),
     ("A", "a", True),
     ({"a": [1]}, {"a": [1.0]}, True), ({"a": 1, "b": 2}, {"a": 1}, False),
     (0, False, False), (0, None, False)],
)  # fmt: skip
def test_arguments_are_compared_as_json(told, right, equal):
    assert same(told, right) is equal


@pytest.mark.parametrize("task", [task for task in TASKS if task.kind == "tools"], ids=lambda task: task.name)
def test_the_right_calls_of_every_task_are_right_and_their_order_matters(task):
    for seed in range(20):
        key = task.generate(seed, "de").key
        made = [call(one.name, dict(one.arguments)) for one in key.calls]
        assert judge_calls(key, made, "").right
        assert not made or not judge_calls(key, made[:-1], "").right
        assert len(made) < 2 or not judge_calls(key, made[::-1], "").right
        assert [answer_to(key, one, number) for number, one in enumerate(made)] == [one.result for one in key.calls]
        assert len(made) < 2 or "error" in answer_to(key, made[1], 0)


@given(st.text(max_size=80), st.text(max_size=200), st.text(max_size=100))
def test_nothing_that_a_model_calls_breaks_the_judge(name, arguments, answer):
    assert not judge_calls(KEY, [ToolCall("", name, arguments)], answer).right


def test_arguments_nested_without_end_are_malformed():
    assert judge_calls(KEY, [call("get_weather", '{"a":' * 100_000)], "").malformed
