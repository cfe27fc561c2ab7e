"""Who listens on a port: from the kernel's socket tables to the process that holds the socket."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pitstop.launch import proc

_LISTEN = "0A"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Listener:
    """One listening socket. `pids` is empty when its holder may not be seen (another user's, or the kernel's)."""

    address: Address
    port: int
    inode: int
    pids: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.pids:
            return f"a process that this user may not see (on {self.address})"
        return " and ".join(f"pid {pid} ({proc.command(pid)})" for pid in self.pids)


def listeners(port: int, host: str = "") -> list[Listener]:
    """Every listener on `port` that a server for `host` would collide with; all of them when `host` is empty."""
    found = [one for one in _sockets() if one.port == port and collides(one.address, host)]
    holders = _holders({one.inode for one in found}) if found else {}
    return [Listener(one.address, one.port, one.inode, tuple(sorted(holders.get(one.inode, ())))) for one in found]


def all_listeners() -> list[Listener]:
    """Every listening TCP socket of this network namespace, with the processes that hold it."""
    found = list(_sockets())
    holders = _holders({one.inode for one in found})
    return [Listener(one.address, one.port, one.inode, tuple(sorted(holders.get(one.inode, ())))) for one in found]


def collides(address: Address, host: str) -> bool:
    """Whether a listener on `address` stands in the way of a server that clients reach at `host`.

    A reverse proxy on another address of the same machine may use the same port; it must not stop a restore.
    """
    own = _plain(address)
    if own.is_unspecified:
        return True
    if host.strip("[]").lower() == "localhost":
        return own.is_loopback
    try:
        wanted = _plain(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return True  # a name: which address it means is decided elsewhere
    return own == wanted or wanted.is_unspecified


def parse_table(lines: Iterable[str]) -> Iterator[Listener]:
    """The listening sockets in a text of the form of /proc/net/tcp or tcp6; lines of another form are skipped."""
    for line in lines:
        fields = line.split()
        if len(fields) < 10 or fields[3] != _LISTEN:
            continue
        address, _, port = fields[1].partition(":")
        try:
            yield Listener(_address(address), int(port, 16), int(fields[9]))
        except ValueError:
            continue


def _sockets() -> Iterator[Listener]:
    for name in ("tcp", "tcp6"):
        try:
            text = (proc.PROC / "self/net" / name).read_text()
        except OSError:
            continue
        yield from parse_table(text.splitlines())


def _address(digits: str) -> Address:
    """The kernel prints each 32-bit word in the machine's byte order; every machine this runs on is little-endian."""
    raw = bytes.fromhex(digits)
    if len(raw) not in (4, 16):
        raise ValueError(digits)
    return ipaddress.ip_address(b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4)))


def _plain(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _holders(inodes: set[int]) -> dict[int, set[int]]:
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    holders: dict[int, set[int]] = {}
    for entry in os.listdir(proc.PROC):  # noqa: PTH208 - names only
        if entry.isdigit():
            for inode in _sockets_of(int(entry), wanted):
                holders.setdefault(inode, set()).add(int(entry))
    return holders


def _sockets_of(pid: int, wanted: dict[str, int]) -> Iterator[int]:
    folder = f"{proc.PROC}/{pid}/fd"
    try:
        descriptors = os.listdir(folder)  # noqa: PTH208 - names only
    except OSError:
        return
    for descriptor in descriptors:
        try:
            target = os.readlink(f"{folder}/{descriptor}")  # noqa: PTH115 - thousands of them
        except OSError:
            continue
        if target in wanted:
            yield wanted[target]
