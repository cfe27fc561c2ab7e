"""The other engines on the box: whoever measures one of them wants to know what is asked of the rest meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pitstop.core.config.schema import Config
from pitstop.core.errors import PitstopError
from pitstop.core.home import Home
from pitstop.engines.adapter import Readiness
from pitstop.services.site import Site, site_of


def neighbours_of(config: Config, home: Home, environ: Mapping[str, str], known: Sequence[Site]) -> list[Site]:
    """Every configured engine but the `known` ones; one whose key is not set cannot be asked, and is left out."""
    reached = {one.endpoint.base_url for one in known}
    found = []
    for name, engine in config.engine.items():
        if engine.base_url in reached or any(one.name == name for one in known):
            continue
        try:
            found.append(site_of(name, engine, home, environ))
        except PitstopError:
            continue
    return found


async def those_up(sites: Sequence[Site]) -> list[Site]:
    """Those that answer at all: what is down takes no memory bandwidth, and its silence is no doubt."""
    answers = await asyncio.gather(*(_answers(site) for site in sites))
    return [site for site, up in zip(sites, answers, strict=True) if up]


async def _answers(site: Site) -> bool:
    try:
        report = await site.adapter.readiness(site.endpoint)
    except PitstopError:
        return False
    return report.readiness is not Readiness.UNREACHABLE
