"""What is wrong with the box, judged from one look at it: every finding with its evidence, its remedy and its undo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

REVIVING = ("always", "unless-stopped")
_DAY_S = 86_400.0


class Severity(StrEnum):
    PROBLEM = "problem"
    ADVICE = "advice"


@dataclass(frozen=True)
class Finding:
    """One thing to change. `undo` takes the remedy back; both are commands where a command does it."""

    code: str
    severity: Severity
    text: str
    evidence: str
    remedy: str
    undo: str


@dataclass(frozen=True, order=True)
class OpenPort:
    """A listener that the network reaches. `program` is empty when its holder may not be seen."""

    address: str
    port: int
    program: str = ""

    @property
    def everywhere(self) -> bool:
        return self.address in ("0.0.0.0", "::")  # noqa: S104 - this is what is looked for


@dataclass(frozen=True)
class EngineOnBox:
    """How an engine is revived and how it can be reached. None is what could not be seen."""

    name: str
    port: int
    has_key: bool
    restart_policy: str | None = None  # of its container
    unit: str = ""  # its systemd unit, or the one that `host render` would write
    unit_restart: str | None = None  # `Restart=` of that unit; None when there is no such unit here


@dataclass(frozen=True)
class BoxView:
    """One look at the box. None is what this box does not say."""

    compaction_proactiveness: int | None = None
    kcompactd_cpu_s: float | None = None
    uptime_s: float | None = None
    swap_total_bytes: int | None = None
    memory_total_bytes: int | None = None
    min_available_bytes: int = 0  # the guard's floor
    max_swap_growth_bytes: int = 0
    engines: tuple[EngineOnBox, ...] = ()
    ports: tuple[OpenPort, ...] = ()
    known_ports: tuple[OpenPort, ...] | None = None  # at the last check; None: this is the first
    firewall: bool | None = None
    gateway_port: int | None = None
    may_see_all: bool = True
    notes: tuple[str, ...] = field(default=())


def findings(box: BoxView) -> list[Finding]:
    """Everything that is wrong or unwise, problems first."""
    found = [*_compaction(box), *_swap(box), *_floor(box), *_restart(box), *_exposed(box), *_new_ports(box)]
    return sorted(found, key=lambda one: one.severity is not Severity.PROBLEM)


def _compaction(box: BoxView) -> Iterator[Finding]:
    if box.compaction_proactiveness in (None, 0):
        return
    spent, uptime = box.kcompactd_cpu_s, box.uptime_s
    evidence, busy = "how long kcompactd ran could not be seen", False
    if spent is not None and uptime:
        share = spent / uptime
        busy = share > 0.001  # a minute and a half a day; an idle box spends seconds in weeks
        evidence = f"kcompactd used {spent:.0f} s of CPU in {uptime / _DAY_S:.1f} days ({share:.2%} of a core)"
    yield Finding(
        "proactive-compaction",
        Severity.PROBLEM if busy else Severity.ADVICE,
        f"vm.compaction_proactiveness is {box.compaction_proactiveness}: the kernel moves pages ahead of need, and "
        "cannot move those that the GPU holds. On two boxes decoding fell from 48 to 34 tokens/s after weeks of it.",
        evidence,
        "sysctl -w vm.compaction_proactiveness=0, and keep it with `pitstop host apply`",
        f"sysctl -w vm.compaction_proactiveness={box.compaction_proactiveness}; rm {SYSCTL_FILE}",
    )


SYSCTL_FILE = "/etc/sysctl.d/99-no-proactive-compaction.conf"


def _swap(box: BoxView) -> Iterator[Finding]:
    total, limit = box.swap_total_bytes, box.max_swap_growth_bytes
    if total and limit and total < limit:
        yield Finding(
            "swap-limit-unreachable",
            Severity.ADVICE,
            "the guard's limit on swap growth is larger than the swap there is, so it can never be reached",
            f"swap {_gib(total)}, max_swap_growth {_gib(limit)}",
            f"set host.max_swap_growth below {_gib(total)} in pitstop.toml, or add swap",
            "set host.max_swap_growth to its old value",
        )


def _floor(box: BoxView) -> Iterator[Finding]:
    total = box.memory_total_bytes
    if total and box.min_available_bytes > total // 2:
        yield Finding(
            "floor-too-high",
            Severity.PROBLEM,
            "more than half of the memory lies under the guard's floor, so nearly every engine would be killed",
            f"host.min_available {_gib(box.min_available_bytes)} of {_gib(total)}",
            "lower host.min_available in pitstop.toml",
            "set host.min_available to its old value",
        )


def _restart(box: BoxView) -> Iterator[Finding]:
    for engine in box.engines:
        revived = engine.restart_policy in REVIVING or engine.unit_restart == "always"
        if revived or (engine.restart_policy is None and engine.unit_restart is None):
            continue
        how = f"unit {engine.unit}: Restart={engine.unit_restart}" if engine.unit_restart else "no unit"
        yield Finding(
            "not-revived",
            Severity.PROBLEM,
            f"{engine.name} does not come back after an exit with code 0, as vLLM ends after EngineDeadError; "
            "`on-failure` does not see it",
            f"container policy {engine.restart_policy or 'unknown'}, {how}",
            f"Restart=always in a drop-in for {engine.unit} (`pitstop host apply`)",
            f"rm /etc/systemd/system/{engine.unit}.d/restart-always.conf; systemctl daemon-reload",
        )


def _exposed(box: BoxView) -> Iterator[Finding]:
    for engine in box.engines:
        open_ = [port for port in box.ports if port.port == engine.port and port.everywhere]
        if not open_ or engine.has_key or box.firewall:
            continue
        gateway = f"; the gateway on port {box.gateway_port} does not help while this port is open"
        behind = gateway if box.gateway_port else ""
        yield Finding(
            "engine-exposed",
            Severity.PROBLEM,
            f"{engine.name} answers everybody on the network, without a key and without a firewall that could be "
            f"seen{behind}",
            ", ".join(f"{port.address}:{port.port} ({port.program or 'holder not visible'})" for port in open_),
            f"publish it as -p 127.0.0.1:{engine.port}:{engine.port}, and let clients use the gateway",
            "publish it as before",
        )


def _new_ports(box: BoxView) -> Iterator[Finding]:
    if box.known_ports is None:
        return
    known = {(port.address, port.port) for port in box.known_ports}
    for port in box.ports:
        if not port.everywhere or (port.address, port.port) in known:
            continue
        yield Finding(
            "new-listener",
            Severity.PROBLEM,
            f"{port.program or 'somebody'} listens on all interfaces, port {port.port}, and did not at the last check",
            f"{port.address}:{port.port}, {port.program or 'holder not visible to this user'}",
            f"find out who brought it: ss -ltnp 'sport = :{port.port}'; stop and disable it, or accept it with "
            "`pitstop host check --accept`",
            "start and enable it again",
        )


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
