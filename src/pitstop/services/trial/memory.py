"""How much memory must be available again once an engine is stopped: what was available, plus what it held."""

from __future__ import annotations

from pathlib import Path

import psutil

from pitstop.core.errors import EngineFailed
from pitstop.core.home import Home
from pitstop.decisions.memory_back import Answer, MemoryPolicy
from pitstop.launch.launcher import Running
from pitstop.launch.memory_back import read_memory, wait_until_back
from pitstop.launch.orphans import gpu_processes
from pitstop.services.site import Site
from pitstop.services.trial.roles import Say

NOTHING_TO_WAIT_FOR = 0
# Some of what a process holds is shared or comes back as page cache; nine tenths back is an engine gone.
_SHARE_BACK = 0.9


async def expected_after_stop(site: Site, running: Running | None) -> int | None:
    """Bytes that should be available once `running` is gone; None when what it holds cannot be known.

    GPU memory on a box that shares it is in no process's books; where the driver does not tell either, nobody does.
    """
    if running is None:
        return NOTHING_TO_WAIT_FOR
    available = read_memory().available_bytes
    if site.config.memory is not None:
        return available + int(site.config.memory * _SHARE_BACK)
    if running.pid is None:
        return None
    members = _tree(running.pid)
    on_gpu = await gpu_processes(site.spec.base_env if site.spec else {})
    mine = [on_gpu[pid] for pid in members if pid in on_gpu]
    if any(held is None for held in mine):
        return None
    gpu_bytes = sum(held or 0 for held in mine)
    return available + int(_SHARE_BACK * (sum(map(_private_bytes, members)) + gpu_bytes))


async def wait_for(site: Site, home: Home, expected: int | None, timeout_s: float, say: Say) -> None:
    """Wait until that much is available; EngineFailed, with who still holds it, when it does not come back in time."""
    if expected == NOTHING_TO_WAIT_FOR or site.spec is None:
        return
    policy = MemoryPolicy(wanted_bytes=expected, timeout_s=timeout_s)
    ended = await wait_until_back(
        site.spec, str(home.root.resolve()), policy, progress=lambda what, _elapsed_s: say(what)
    )
    if ended.answer is Answer.TIMEOUT:
        raise EngineFailed(
            f"the memory of the last engine did not come back: {ended.sentence()}",
            hint="Nothing was launched into it. End what is named above; if nothing is, the driver holds it.",
        )


def _tree(pid: int) -> list[int]:
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return [pid]


def _private_bytes(pid: int) -> int:
    """Anonymous and shared memory of a process; mapped files count as available already."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return 0
    kib = [int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:"))]
    return sum(kib) * 1024
