"""Real llama.cpp behind the gateway: its own streams, its own usage, clients that leave it, and its death."""

import asyncio
import json
from contextlib import ExitStack

import pytest

from pitstop.core.home import Home
from support.embedded import MODEL, embedded_engine
from support.gateway_world import WITH_FALLBACK, running, write_config

LEFT_S = 10.0  # it looks between two tokens, which two busy cores make slow; the whole answer would take longer still
LONG = {"max_tokens": 450, "ignore_eos": True}


@pytest.fixture
def engines(tmp_path):
    """The base URLs of two engines, and the stacks that end them."""
    with ExitStack() as all_of_them:
        stacks = {name: all_of_them.enter_context(ExitStack()) for name in ("a", "b")}
        size = ("--ctx", "512", "--parallel", "1")
        yield (
            {
                name: stack.enter_context(embedded_engine(tmp_path / f"{name}.log", *size)).base_url
                for name, stack in stacks.items()
            },
            stacks,
        )


async def test_a_real_engine_answers_is_let_go_and_is_answered_for_when_it_dies(tmp_path, engines):
    urls, stacks = engines
    config = write_config(tmp_path, WITH_FALLBACK, urls, model=MODEL)
    async with running(Home(tmp_path / "home").prepared(), config, {}) as there:
        await it_answers(there)
        await it_is_let_go(there, urls["a"].removesuffix("/v1"))
        await it_dies_in_the_middle(there, stacks["a"])
        for stream in (False, True):
            async with there.chat(max_tokens=4, stream=stream) as reply:
                assert reply.headers["x-pitstop-route"] == "swift"
                assert b'"choices"' in await reply.read()


async def it_answers(there):
    async with there.chat(max_tokens=4) as reply:
        assert (await reply.json())["usage"]["completion_tokens"] == 4
    async with there.chat(max_tokens=4, stream=True) as reply:
        body = await reply.read()
    assert body.endswith(b"data: [DONE]\n\n")
    assert b'"usage"' not in body
    account = await there.account(2)
    assert account.usage.completion_tokens == 4
    assert account.ttft_s is not None


async def it_is_let_go(there, root):
    """Streamed only: a reply in one piece is generated to its end by this engine, also when it is asked directly."""

    async def ask():
        async with there.chat(stream=True, **LONG) as reply:
            await reply.read()

    accounts = len(there.accounts)
    request = asyncio.create_task(ask())
    while not await busy(there, root):  # noqa: ASYNC110 - the engine has no event of ours
        await asyncio.sleep(0.01)
    request.cancel()
    async with asyncio.timeout(LEFT_S):
        while await busy(there, root):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await there.account(accounts + 1)).status == 499


async def it_dies_in_the_middle(there, stack):
    accounts = len(there.accounts)
    async with there.chat(stream=True, **LONG) as reply:
        await reply.content.readany()
        await asyncio.to_thread(stack.close)
        events = [line for line in (await reply.read()).splitlines() if line.startswith(b"data: ")]
        assert json.loads(events[-1][6:])["error"]["message"]
    assert (await there.account(accounts + 1)).outcome == "torn"


async def busy(there, root):
    async with there.http.get(f"{root}/slots") as reply:
        return any(slot["is_processing"] for slot in await reply.json())
