"""A whole gateway on loopback in this process, in front of scripted engines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from pitstop.core.config.schema import Config
from pitstop.core.home import Home
from pitstop.gateway.account import Account
from pitstop.gateway.front import Front
from pitstop.gateway.key_orders import order
from pitstop.gateway.keys import add_key
from pitstop.gateway.service import Service
from support.scripted_engine import Script, ScriptedEngine, engine

PATIENCE_S = 5.0


@dataclass
class World:
    home: Home
    config_path: Path
    engines: dict[str, ScriptedEngine]
    service: Service
    front: Front
    address: str
    key: str
    http: aiohttp.ClientSession
    accounts: list[Account] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def chat(self, model: str = "mid", *, path: str = "chat/completions", **fields: Any) -> Any:
        """A chat request, to be used with `async with`."""
        body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], **fields}
        return self.post(json.dumps(body).encode(), path=path)

    def post(self, body: bytes, *, path: str = "chat/completions", **headers: str) -> Any:
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json", **headers}
        return self.http.post(f"{self.url}/v1/{path}", data=body, headers=headers)

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait for something that other tasks bring about; TimeoutError when it does not come."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110 - what is waited for has no event of its own
                await asyncio.sleep(0.005)

    async def account(self, number: int = 1) -> Account:
        """The latest account, once there are `number` of them."""
        await self.until(lambda: len(self.accounts) >= number)
        return self.accounts[-1]

    def inside(self, name: str = "a") -> int:
        return self.front.doors.inside[name]

    def reconfigure(self, old: str, new: str) -> None:
        text = self.config_path.read_text()
        assert old in text
        self.config_path.write_text(text.replace(old, new))


ONE_ROUTE = """
[gateway.route.mid]
engine = "a"
"""
WITH_FALLBACK = """
[gateway.route.mid]
engine = "a"
fallback = "swift"
[gateway.route.swift]
engine = "b"
"""


@contextlib.asynccontextmanager
async def world(
    tmp_path: Path, routes: str = ONE_ROUTE, *, engine_lines: str = "", gateway_lines: str = "", **scripts: Script
) -> AsyncIterator[World]:
    """Keyword arguments are engines by name and what they do."""
    async with contextlib.AsyncExitStack() as stack:
        engines = {name: await stack.enter_async_context(engine(script)) for name, script in scripts.items()}
        urls = {name: scripted.base_url for name, scripted in engines.items()}
        config_path = write_config(tmp_path, routes, urls, engine_lines=engine_lines, gateway_lines=gateway_lines)
        home = Home(tmp_path / "home").prepared()
        yield await stack.enter_async_context(running(home, config_path, engines))


def write_config(
    folder: Path,
    routes: str,
    urls: dict[str, str],
    *,
    model: str = "engine-model",
    engine_lines: str = "",
    gateway_lines: str = "",
) -> Path:
    """A pitstop.toml whose gateway listens on any free port."""
    parts = [
        f'[engine.{name}]\nkind = "vllm"\nmodel = "{model}"\nbase_url = "{url}"\n{engine_lines}'
        for name, url in urls.items()
    ]
    path = folder / "pitstop.toml"
    gateway = f'[gateway]\nlisten = "127.0.0.1:0"\nshed_below = "0 B"\n{gateway_lines}'
    path.write_text("\n".join([*parts, gateway, routes]))
    return path


@contextlib.asynccontextmanager
async def running(home: Home, config_path: Path, engines: dict[str, ScriptedEngine]) -> AsyncIterator[World]:
    key = make_key(home)
    accounts: list[Account] = []
    service = Service(home, config_path, {"A_KEY": "engine-secret"}, accounts.append)
    ready: asyncio.Future[tuple[Front, str]] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(service.run(lambda front, address: ready.set_result((front, address))))
    done, _pending = await asyncio.wait((ready, task), return_when=asyncio.FIRST_COMPLETED)
    if task in done:
        task.result()
    front, address = await ready
    try:
        async with aiohttp.ClientSession() as http:
            yield World(home, config_path, engines, service, front, address, key, http, accounts)
    finally:
        service.stop()
        service.hurry()
        async with asyncio.timeout(PATIENCE_S):
            await task


def make_key(home: Home, name: str = "tester", **limits: Any) -> str:
    chosen = {"routes": [], "rate": "", "concurrency": None, "expires": "", **limits}
    return add_key(home, order(name, Config(), now_s=time.time(), **chosen), name)
