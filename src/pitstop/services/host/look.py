"""Looks at the box for `host check`. What cannot be seen is None; nothing is changed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from pitstop.core.config.schema import Config
from pitstop.core.durable import write_durably
from pitstop.core.errors import PitstopError
from pitstop.core.home import Home
from pitstop.decisions.host import BoxView, EngineOnBox, OpenPort
from pitstop.engines.procfs import read_activity, read_memory
from pitstop.launch import command, ports, proc
from pitstop.launch.command import CommandFailed
from pitstop.launch.container_engine import ContainerEngine
from pitstop.launch.plan import address_of
from pitstop.services.host.units import container_of, unit_of

_PROGRAM_S = 10.0
_PROACTIVENESS = "sys/vm/compaction_proactiveness"


async def look(config: Config, home: Home, *, procfs: Path = Path("/proc")) -> BoxView:
    """Everything that `decisions.host` judges."""
    memory, activity = read_memory(procfs), read_activity(procfs)
    open_ports = await asyncio.to_thread(open_ports_now)
    return BoxView(
        compaction_proactiveness=_whole(procfs / _PROACTIVENESS),
        kcompactd_cpu_s=activity.kcompactd_cpu_s,
        uptime_s=_uptime(procfs),
        swap_total_bytes=memory.swap_total_bytes,
        memory_total_bytes=memory.total_bytes,
        min_available_bytes=int(config.host.min_available),
        max_swap_growth_bytes=int(config.host.max_swap_growth),
        engines=tuple(await asyncio.gather(*(_engine(name, config) for name in config.engine))),
        ports=open_ports,
        known_ports=known_ports(home),
        firewall=await _firewall(),
        gateway_port=_gateway_port(config),
        may_see_all=os.geteuid() == 0,
    )


def open_ports_now() -> tuple[OpenPort, ...]:
    """Listeners that are not bound to loopback alone, with the program that holds them."""
    found = [one for one in ports.all_listeners() if not one.address.is_loopback]
    return tuple(sorted({OpenPort(str(one.address), one.port, _program(one.pids)) for one in found}))


def known_ports(home: Home) -> tuple[OpenPort, ...] | None:
    """The listeners of the last check; None when there was none, or its file is unreadable."""
    try:
        return msgspec.json.decode((home.root / "listeners.json").read_bytes(), type=tuple[OpenPort, ...])
    except (OSError, msgspec.MsgspecError):
        return None


def remember_ports(home: Home, seen: tuple[OpenPort, ...]) -> None:
    """Make these listeners the ones that are known; OSError when the disk does not take it."""
    write_durably(home.root / "listeners.json", msgspec.json.encode(seen))


async def _engine(name: str, config: Config) -> EngineOnBox:
    engine = config.engine[name]
    unit = unit_of(name, engine)
    return EngineOnBox(
        name=name,
        port=address_of(engine)[0],
        has_key=bool(engine.api_key_env),
        restart_policy=await _restart_policy(name, config),
        unit=unit,
        unit_restart=await _unit_restart(unit),
    )


async def _restart_policy(name: str, config: Config) -> str | None:
    launch = config.engine[name].launch
    container = container_of(launch)
    if not container:
        return None
    try:
        found = await ContainerEngine(getattr(launch, "binary", "docker"), os.environ).inspect(container)
    except PitstopError:
        return None
    return found.restart_policy if found is not None else None


async def _unit_restart(unit: str) -> str | None:
    """`Restart=` of a unit that is loaded; None when there is none, or no systemd runs here."""
    argv = ["systemctl", "show", unit, "--property=LoadState,Restart"]
    try:
        out = (await command.run(argv, environ=os.environ, timeout_s=_PROGRAM_S)).out
    except CommandFailed:
        return None
    said = dict(line.partition("=")[::2] for line in out.splitlines())
    return said.get("Restart") if said.get("LoadState") == "loaded" else None


async def _firewall() -> bool | None:
    """Whether rules that drop or reject are loaded; None when this user cannot see them, or no tool is there."""
    for argv in (["nft", "list", "ruleset"], ["iptables", "-S", "INPUT"]):
        try:
            out = (await command.run(argv, environ=os.environ, timeout_s=_PROGRAM_S)).out
        except CommandFailed:
            continue
        return any(word in out for word in ("policy drop", "drop", "reject", "DROP", "REJECT"))
    return None


def _gateway_port(config: Config) -> int | None:
    if config.gateway is None:
        return None
    port = config.gateway.listen.rpartition(":")[2]
    return int(port) if port.isdigit() else None


def _program(pids: tuple[int, ...]) -> str:
    return ", ".join(sorted({one.name for pid in pids if (one := proc.read(pid)) is not None}))


def _whole(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _uptime(procfs: Path) -> float | None:
    try:
        return float((procfs / "uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
