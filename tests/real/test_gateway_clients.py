"""The official clients, unchanged, through the gateway to real llama.cpp: streamed and not, with tools."""

import asyncio
import json
from pathlib import Path

import pytest

from pitstop.core.home import Home
from real.gateway_clients import clients_python
from support.embedded import MODEL, embedded_engine
from support.gateway_world import ONE_ROUTE, running, write_config
from support.scripted_engine import CHUNK, DONE, USAGE, engine, frame

pytestmark = pytest.mark.real
CONVERSATION = Path(__file__).with_name("gateway_conversation.py")


ROUTES = ONE_ROUTE + '[gateway.route.tools]\nengine = "b"\n'
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":'}}
REST = {"index": 0, "function": {"arguments": '"Berlin"}'}}
WHOLE = {**CALL, "function": {"name": "get_weather", "arguments": '{"city":"Berlin"}'}}
BLOCK = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Berlin"}}


async def calling_the_tool(request, wire):
    """An engine that calls the tool that it was given, in the shape of the API that was asked."""
    assert request.json["tools"]
    if "/messages" in request.line:
        usage = {"input_tokens": 3, "output_tokens": 4}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [BLOCK], "usage": usage}
        await wire.reply(200, json.dumps({**message, "stop_reason": "tool_use"}).encode())
    elif request.json.get("stream"):
        deltas = [{"role": "assistant"}, {"tool_calls": [CALL]}, {"tool_calls": [REST]}]
        frames = [*map(frame, deltas), frame({}, "tool_calls"), frame(None, usage=USAGE), DONE]
        await wire.stream(*frames)
    else:
        message = {"role": "assistant", "content": None, "tool_calls": [WHOLE]}
        choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
        await wire.reply(200, json.dumps({**CHUNK, "choices": choices, "usage": USAGE}).encode())


async def test_the_official_clients_work_through_the_gateway_unchanged(tmp_path):
    python = await asyncio.to_thread(clients_python)
    with embedded_engine(tmp_path / "engine.log", "--ctx", "512", "--parallel", "1") as endpoint:
        async with engine(calling_the_tool) as tools:
            urls = {"a": endpoint.base_url, "b": tools.base_url}
            told, accounts = await conversation(python, write_config(tmp_path, ROUTES, urls, model=MODEL))
    assert told["openai"] == {
        "models": ["mid", "tools"],
        "tokens": 4,
        "choices_in_every_event": True,
        "usage_hidden": True,
        "usage_shown": 4,
        "tool": "get_weather",
        "tool_streamed": {"city": "Berlin"},
        "completion": 4,
        "response": told["openai"]["response"],
        "response_stream": ["response.created", "response.completed"],
    }
    assert told["openai"]["response"] > 0
    assert told["anthropic"] == {
        "models": ["mid", "tools"],
        "tokens": 4,
        "text": True,
        "streamed_tokens": 4,
        "tool": "get_weather",
    }
    assert told["errors"] == {
        "key": "AuthenticationError",
        "model": "NotFoundError",
        "anthropic_key": "AuthenticationError",
    }
    answered = [account for account in accounts if account.answered_by]
    assert {account.outcome for account in answered} == {"ok"}
    assert all(account.usage.completion_tokens for account in answered)


async def conversation(python, config):
    """What the clients told, and what the gateway accounted for."""
    async with running(Home(config.parent / "home").prepared(), config, {}) as there:
        argv = (python, CONVERSATION, there.url, there.key)
        said = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
        out, _err = await asyncio.wait_for(said.communicate(), 300)
        assert said.returncode == 0
        return json.loads(out), there.accounts
