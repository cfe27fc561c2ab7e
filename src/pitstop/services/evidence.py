"""What is saved before an engine is restarted: its log, its container, its metrics, the memory, the GPU, the kernel.

Each item is bounded in time and size, secrets are blotted out, and a part that fails leaves its reason in its place.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from pitstop.client.http import Answer, get_text
from pitstop.core.durable import write_durably
from pitstop.core.secrets import is_secret, redacted
from pitstop.launch import command
from pitstop.launch.command import CommandFailed
from pitstop.launch.containers import engine_of
from pitstop.launch.launcher import Running
from pitstop.services.site import Site

_PROGRAM_S = 10.0
_LOG_LINES = 500
_KERNEL_LINES = 200
_MAX_BYTES = 4 * 2**20
_SECRET_LIKE = re.compile(r"(?i)(bearer\s+|api[-_]?key[\"'=:\s]+|hf_|sk-)([A-Za-z0-9_\-.]{8,})")


async def collect(site: Site, running: Running | None, folder: Path, about: str, *, item_s: float = 10.0) -> list[str]:
    """Fill `folder` with everything that can be had, each within twice `item_s`; returns what could not be had."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True, mode=0o700)
    parts: dict[str, Callable[[], Awaitable[str]]] = {
        "about.txt": lambda: _said(about),
        "log.txt": lambda: _log(site),
        "inspect.json": lambda: _inspect(site),
        "metrics.txt": lambda: _metrics(site, item_s),
        "memory.txt": _memory,
        "gpu.txt": _gpu,
        "kernel.log": _kernel,
        "stack.txt": lambda: _stack(running),
    }
    problems = await asyncio.gather(*(_part(folder / name, fetch, site, 2 * item_s) for name, fetch in parts.items()))
    return [problem for problem in problems if problem]


async def kernel_lines() -> list[str]:
    """The kernel's last lines; empty where this user may not read them."""
    try:
        out = await _run(["dmesg", "--time-format", "iso"])
    except CommandFailed:
        return []
    return out.splitlines()[-_KERNEL_LINES:]


async def _part(path: Path, fetch: Callable[[], Awaitable[str]], site: Site, timeout_s: float) -> str:
    """Write one item; a part that hangs or fails must not cost the others."""
    problem = ""
    try:
        text = await asyncio.wait_for(fetch(), timeout_s)
    except Exception as error:  # noqa: BLE001 - the engine and the box are broken here: anything may be raised
        text = problem = f"{path.name}: {type(error).__name__}: {error}"
    content = blotted(text, site.endpoint.api_key).encode("utf-8", "replace")[-_MAX_BYTES:]
    try:
        await asyncio.to_thread(write_durably, path, content)
    except OSError as error:
        return f"{path} could not be written: {error.strerror or error}"
    return problem


def blotted(text: str, key: str | None) -> str:
    """The text without the engine's key and without what looks like one."""
    if key:
        text = text.replace(key, "***")
    return _SECRET_LIKE.sub(r"\1***", text)


async def _said(text: str) -> str:
    return text + "\n"


async def _log(site: Site) -> str:
    if site.launcher is None or site.spec is None:
        return "not launched by pitstop\n"
    return "\n".join(await site.launcher.log_tail(site.spec, _LOG_LINES)) + "\n"


async def _inspect(site: Site) -> str:
    spec = site.spec
    name = "" if spec is None else spec.options.get("container") or (spec.name if spec.launcher == "docker" else "")
    if spec is None or not name:
        return "no container\n"
    found = await engine_of(spec).inspect(name)
    if found is None:
        return "the container is gone\n"
    shown = msgspec.to_builtins(found)
    config = shown.get("Config") or {}
    config["Env"] = [_env(item) for item in config.get("Env") or ()]
    config["Cmd"] = redacted(config.get("Cmd") or ())
    return msgspec.json.format(msgspec.json.encode(shown), indent=2).decode()


def _env(item: str) -> str:
    name, _, value = item.partition("=")
    return f"{name}=***" if is_secret(name, value) else item


async def _metrics(site: Site, deadline_s: float) -> str:
    answer = await get_text(site.endpoint, "/metrics", deadline_s=deadline_s, root=True)
    return answer.value if isinstance(answer, Answer) else f"{answer.detail}\n"


async def _memory() -> str:
    names = ("meminfo", "pressure/memory", "vmstat", "loadavg")
    return "".join(f"== {name}\n{_read(Path('/proc') / name)}" for name in names)


async def _gpu() -> str:
    return await _run(["nvidia-smi", "-q", "-d", "MEMORY,UTILIZATION,POWER,CLOCK,TEMPERATURE,PIDS,ECC"])


async def _kernel() -> str:
    return "\n".join(await kernel_lines()) + "\n"


async def _stack(running: Running | None) -> str:
    """Where a Python engine stands, if py-spy is there; it reads another process's memory and stops it meanwhile."""
    if running is None or running.pid is None or shutil.which("py-spy") is None:
        return "py-spy is not installed, or there is no process\n"
    return await _run(["py-spy", "dump", "--pid", str(running.pid), "--subprocesses", "--nonblocking"])


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        return f"{error}\n"


async def _run(argv: list[str]) -> str:
    return (await command.run(argv, environ=os.environ, timeout_s=_PROGRAM_S)).out
