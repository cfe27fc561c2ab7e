"""What happens beside the requests: holds and lease, keys and configuration on disk, memory, probes of what failed."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

from pitstop.core.errors import UsageError
from pitstop.decisions.ejection import after_probe, probe_due
from pitstop.gateway.front import Front, Rules
from pitstop.gateway.keys import KeyRing, keys_path, read_keys
from pitstop.gateway.upstream import probe
from pitstop.services.guard.memory import MemoryReader

log = logging.getLogger("pitstop.gateway")
TICK_S = 0.2  # how late a door that nobody announced, or a revoked key, is noticed at most
_LOOKS_PER_MEMORY = 5  # once a second; the kernel takes its time to add up what it reports

Stamp = tuple[int, int, int]  # modification time, inode, size: what tells one content of a file from the next


class Ticking:
    """One look at everything, five times a second."""

    def __init__(self, front: Front, config_path: Path, reload: Callable[[], None]) -> None:
        self._front = front
        self._config_path = config_path
        self._keys_path = keys_path(front.home)
        self._reload = reload
        self._config_stamp = stamp(config_path)
        self._keys_stamp = stamp(self._keys_path)
        self._memory = MemoryReader()
        self._looks = 0
        self._probing: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until cancelled. A look that fails is told and does not end the looking."""
        try:
            while True:
                await asyncio.sleep(TICK_S)
                try:
                    self.look()
                except Exception:
                    log.exception("a look at doors, keys, memory or engines failed")
        finally:
            self._memory.close()
            for task in self._probing:
                task.cancel()

    def look(self) -> None:
        front = self._front
        if (now := stamp(self._config_path)) != self._config_stamp:
            self._config_stamp = now
            self._reload()
        if (now := stamp(self._keys_path)) != self._keys_stamp:
            self._keys_stamp = now
            self._reread_keys()
        if front.doors.look(front.rules.engines):
            log.info("doors held: %s", ", ".join(sorted(front.doors.held)) or "none")
        if self._looks % _LOOKS_PER_MEMORY == 0:
            available = self._memory.read().available_bytes
            front.short_of_memory = available is not None and available < front.rules.shed_below_bytes
        self._looks += 1
        self._probe()

    def _reread_keys(self) -> None:
        try:
            self._front.keys = KeyRing(read_keys(self._front.home))
        except UsageError as error:
            log.warning("keys: the old ones stay: %s", error.message)
            return
        log.info("keys: %d", len(self._front.keys))

    def _probe(self) -> None:
        now_s = asyncio.get_running_loop().time()
        for name, health in self._front.health.items():
            if probe_due(health, now_s) and name in self._front.rules.engines and not self._being_probed(name):
                task = asyncio.create_task(self._probe_one(name, self._front.rules), name=name)
                self._probing.add(task)
                task.add_done_callback(self._probing.discard)

    def _being_probed(self, name: str) -> bool:
        return any(task.get_name() == name for task in self._probing)

    async def _probe_one(self, name: str, rules: Rules) -> None:
        front, deadline_s = self._front, rules.gateway.connect_deadline
        answered = await probe(front.connections, rules.engines[name], rules.engine_keys.get(name), deadline_s)
        now_s = asyncio.get_running_loop().time()
        front.health[name] = after_probe(front.health[name], rules.ejection, now_s, answered=answered)
        log.info("engine %s is %s", name, front.health[name].service)


def stamp(path: Path) -> Stamp | None:
    """What tells this content of a file from another; None when there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def memory_total_bytes() -> int | None:
    """All memory of this box."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
