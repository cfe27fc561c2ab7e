"""What a token of a running engine reads of the memory: told, or by the headers of its checkpoint."""

from __future__ import annotations

from pathlib import Path

from pitstop.core.config.host import Host
from pitstop.core.documents import Notice
from pitstop.core.units import parse_bandwidth
from pitstop.engines.checkpoint import weight_bytes
from pitstop.rulers.limit import Reads
from pitstop.services.plan.footprint import model_path
from pitstop.services.site import Site

UNKNOWN = "ceiling-unknown"


async def reads_of(site: Site, host: Host) -> tuple[Reads | None, tuple[Notice, ...]]:
    """None, with a word why, where bandwidth is known and weights are not; None alone where no bandwidth is told."""
    if not host.memory_bandwidth:
        return None, ()
    found, reason = await _weights(site)
    if found is None:
        text = f"decode figures of {site.name} are not held against the memory's bandwidth: {reason}"
        return None, (Notice(code=UNKNOWN, text=text),)
    return Reads(parse_bandwidth(host.memory_bandwidth), *found), ()


async def _weights(site: Site) -> tuple[tuple[int, str] | None, str]:
    running = await site.running()
    if running is not None and site.spec is not None and running.fingerprint != site.spec.fingerprint:
        return None, "it does not run with its default settings, so its weights may be others"
    told = site.config.footprint.active_weights
    if told is not None:
        return (int(told), "active_weights as told"), ""
    path = model_path(site.config, site.spec)
    if path is None:
        return None, f"tell [engine.{site.name}.footprint] active_weights or checkpoint"
    return _of_checkpoint(path)


def _of_checkpoint(path: Path) -> tuple[tuple[int, str] | None, str]:
    found = weight_bytes(path)
    if found is None:
        return None, f"the headers of {path} do not say what a token reads; tell active_weights"
    return (found.active_bytes, f"headers of {path.name}, {found.how}"), ""
