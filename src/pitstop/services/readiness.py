"""Whether an engine can be measured at all, and if not, what to do."""

from __future__ import annotations

from pitstop.core.errors import EngineFailed, PitstopError, RequestRefused, Unreachable
from pitstop.engines.adapter import Readiness, ReadinessReport
from pitstop.services.site import Site


async def refuse_unless_ready(site: Site) -> None:
    """Ask once. Unreachable, RequestRefused or EngineFailed, each with its sentence, unless the engine is ready."""
    report = await site.adapter.readiness(site.endpoint)
    if report.readiness is not Readiness.READY:
        raise refusal(site, report)


def refusal(site: Site, report: ReadinessReport) -> PitstopError:
    """The error for an engine that is not ready."""
    url, detail = site.endpoint.base_url, f" ({report.detail})" if report.detail else ""
    match report.readiness:
        case Readiness.WRONG_MODEL:
            known = ", ".join(report.models[:20]) or "no model at all"
            return RequestRefused(f"{url} does not serve {site.endpoint.model!r}.", hint=f"It serves: {known}.")
        case Readiness.REFUSED:
            hint = "Put the key into a variable and name it: api_key_env in pitstop.toml, or --api-key-env."
            return RequestRefused(f"{url} refuses the key{detail}.", hint=hint)
        case Readiness.LOADING:
            return EngineFailed(
                f"{url} is still loading its model{detail}.", hint="Wait until it is ready, then again."
            )
        case _:
            return Unreachable(f"{url} does not answer{detail}.", hint="Is the engine up, and is the address right?")
