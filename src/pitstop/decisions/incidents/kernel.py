"""What the kernel tells: faults of the GPU (Xid), its own out-of-memory kills, segmentation faults.

The meaning of an Xid is NVIDIA's (docs.nvidia.com/deploy/xid-errors); 13 with 43 behind it was seen on GB10 as one
fault after which the process stays alive and useless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pitstop.decisions.incidents.lines import Until, read_line

_MAX_KEPT = 500
_ISO_COMMA = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:\d\d) ")
_XID = re.compile(r"\bXid \((?P<device>PCI:[^)]*)\): (?P<number>\d{1,3})(?:, (?:pid=(?P<pid>'?[\w<>]+'?))?)?")
_OOM = re.compile(
    r"(?P<cgroup>Memory cgroup out of memory|oom-kill:constraint=CONSTRAINT_MEMCG)"
    r"|Out of memory: |oom-kill:constraint=",
    re.IGNORECASE,
)
_KILLED = re.compile(r"Killed process (?P<pid>\d+) \((?P<name>[^)]*)\)")
_ENGINES = re.compile(r"python|vllm|llama|sglang|ray|pt_main|mlx|trt|engine", re.IGNORECASE)
_SEGFAULT = re.compile(
    r"(?P<name>[\w.\-: ]{1,40})\[(?P<pid>\d+)\]: segfault at|traps: (?P<trap>[\w.\-: ]{1,40})\[\d+\] "
)

XIDS = {
    13: "a GPU kernel failed (graphics engine exception)",
    31: "the GPU met an address that is not mapped (MMU fault)",
    32: "the GPU was sent a corrupted command",
    43: "the GPU stopped a process's work",
    45: "the GPU's work was cleaned away when its process ended",
    48: "GPU memory has an error that cannot be corrected (double bit ECC)",
    62: "the GPU's own microcontroller halted",
    63: "a page or row of GPU memory was retired",
    64: "a page or row of GPU memory could not be retired",
    74: "NVLink reported an error",
    79: "the GPU fell off the bus",
    92: "the GPU corrects too many memory errors",
    94: "a GPU memory error was contained to one process",
    95: "a GPU memory error was not contained",
    109: "the GPU switched contexts too slowly",
    119: "the GPU's system processor did not answer",
    120: "the GPU's system processor failed",
    154: "the GPU wants to be reset",
}
_FOLLOWS = (43, 45)  # what the driver does about a fault that came before


class KernelFact(StrEnum):
    XID = "xid"
    OOM_HOST = "oom-killer"
    OOM_CGROUP = "oom-cgroup"
    SEGFAULT = "segfault"
    NO_MEMORY = "nv-no-memory"  # the driver was refused memory: evidence, no incident


@dataclass(frozen=True)
class KernelLine:
    fact: KernelFact
    text: str
    at: str | None
    epoch_s: float | None
    number: int = 0  # of the Xid
    pid: str = ""
    name: str = ""

    @property
    def killed_an_engine(self) -> bool:
        """Whether what the kernel killed may be an engine; without a name it may."""
        return not self.name or _ENGINES.search(self.name) is not None


def read_kernel(lines: Iterable[bytes], until: Until | None = None) -> list[KernelLine]:
    """The lines of a dmesg, journalctl -k or kern.log that tell of a fault. Never raises on any content."""
    found: list[KernelLine] = []
    for raw in lines:
        if len(found) < _MAX_KEPT and (one := _read(raw, until)) is not None:
            found.append(one)
    return found


def first_xid(lines: Iterable[KernelLine]) -> KernelLine | None:
    """The fault itself: the first Xid that is not merely what the driver did about another."""
    xids = [line for line in lines if line.fact is KernelFact.XID]
    return next((line for line in xids if line.number not in _FOLLOWS), xids[0] if xids else None)


def _read(raw: bytes, until: Until | None) -> KernelLine | None:
    text = raw.decode("utf-8", "replace").strip()[:2000]
    fact = _fact(text)
    if fact is None:
        return None
    kind, number, pid, name = fact
    stamped = read_line(_ISO_COMMA.sub(lambda match: match[1].replace(",", ".") + " ", text).encode(), until)
    return KernelLine(kind, text, stamped.at, stamped.epoch_s, number, pid, name)


def _fact(text: str) -> tuple[KernelFact, int, str, str] | None:
    if match := _XID.search(text):
        return KernelFact.XID, int(match["number"]), (match["pid"] or "").strip("'"), ""
    if "NV_ERR_NO_MEMORY" in text:
        return KernelFact.NO_MEMORY, 0, "", ""
    if match := _OOM.search(text):
        killed = _KILLED.search(text)
        kind = KernelFact.OOM_CGROUP if match["cgroup"] else KernelFact.OOM_HOST
        return kind, 0, killed["pid"] if killed else "", killed["name"] if killed else ""
    if match := _SEGFAULT.search(text):
        return KernelFact.SEGFAULT, 0, match["pid"] or "", match["name"] or match["trap"] or ""
    return None
