"""A real Chromium, driven over its own debugging protocol; nothing beside aiohttp is needed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

_START_S, _CALL_S = 60.0, 60.0
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--no-first-run", "--remote-debugging-port=0",
)  # fmt: skip


class Tab:
    """One page; `events` are all that it told since it was opened."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._last, self.events = socket, 0, list[dict[str, Any]]()

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; AssertionError when the browser refuses it."""
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": params})
        async with asyncio.timeout(_CALL_S):
            while True:
                told = await self._socket.receive_json()
                if told.get("id") == self._last:
                    assert "error" not in told, told
                    return dict(told["result"])
                self.events.append(told)

    async def until(self, method: str) -> None:
        """Wait for an event."""
        async with asyncio.timeout(_CALL_S):
            while not any(event.get("method") == method for event in self.events):
                self.events.append(await self._socket.receive_json())

    async def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression in the page, taken from outside its policy."""
        told = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def told(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event.get("method") == method]


@contextlib.asynccontextmanager
async def opened(profile: Path, url: str, *, width: int, dark: bool = False) -> AsyncIterator[Tab]:
    """The page at `url`, loaded in a window of `width` pixels."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "this test needs Chromium (Debian: apt-get install chromium)"
    browser = await asyncio.create_subprocess_exec(
        program,
        *_FLAGS,
        f"--user-data-dir={profile}",
        "about:blank",
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        port = await _port(profile / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.put(f"http://127.0.0.1:{port}/json/new?about:blank") as reply:
                target = json.loads(await reply.text())["webSocketDebuggerUrl"]
            async with session.ws_connect(target, max_msg_size=0) as socket:
                tab = Tab(socket)
                await _load(tab, url, width, dark)
                yield tab
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(browser.pid, signal.SIGKILL)  # a browser is a family of processes
        await browser.wait()


async def _load(tab: Tab, url: str, width: int, dark: bool) -> None:
    for domain in ("Page", "Network", "Runtime", "Log"):
        await tab.call(f"{domain}.enable")
    await tab.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 500
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    await tab.call("Emulation.setEmulatedMedia", features=[scheme])
    await tab.call("Page.navigate", url=url)
    await tab.until("Page.loadEventFired")


async def _port(file: Path) -> int:
    """Chromium writes the port that it chose into its profile."""
    async with asyncio.timeout(_START_S):
        while not _first_line(file):  # noqa: ASYNC110 - nothing tells when another program has written a file
            await asyncio.sleep(0.05)
    return int(_first_line(file))


def _first_line(file: Path) -> str:
    return file.read_text().partition("\n")[0] if file.exists() else ""
