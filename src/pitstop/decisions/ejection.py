"""When an engine that fails is left alone, and how it comes back.

    SERVING --eject_after failures in a row--> EJECTED --a probe succeeds--> ON_TRIAL --a request succeeds--> SERVING
                                                  ^                             |
                                                  +------- it fails: twice as long

A probe (`/v1/models`) proves only that something listens; an engine can list models and generate nothing (vLLM #39863).
So a probe lets one real request through, and only its answer readmits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

_MOST_DOUBLINGS = 4


class Service(StrEnum):
    SERVING = "serving"
    EJECTED = "ejected"
    ON_TRIAL = "on-trial"


@dataclass(frozen=True)
class EjectionPolicy:
    eject_after: int = 3  # failures in a row
    eject_for_s: float = 10.0


@dataclass(frozen=True)
class Health:
    """What is known of one engine. `until_s` is the earliest next probe, `trial_out` whether the one request is out."""

    service: Service = Service.SERVING
    failures: int = 0
    ejections: int = 0
    until_s: float = 0.0
    trial_out: bool = False


def is_ejected(health: Health) -> bool:
    """Whether a request should go elsewhere if it can."""
    return health.service is Service.EJECTED or (health.service is Service.ON_TRIAL and health.trial_out)


def after_send(health: Health) -> Health:
    """A request was sent; on trial it is the only one until its outcome is known."""
    return replace(health, trial_out=True) if health.service is Service.ON_TRIAL else health


def after_success(health: Health) -> Health:
    return health if health == Health() else Health()


def after_failure(health: Health, policy: EjectionPolicy, now_s: float) -> Health:
    """Count a failure; the last allowed one, or any on trial, ejects."""
    failures = health.failures + 1
    if health.service is Service.EJECTED:
        return replace(health, failures=failures)
    if health.service is Service.SERVING and failures < policy.eject_after:
        return replace(health, failures=failures)
    wait_s = policy.eject_for_s * 2 ** min(health.ejections, _MOST_DOUBLINGS)
    return Health(Service.EJECTED, failures, health.ejections + 1, now_s + wait_s)


def after_abandoned(health: Health) -> Health:
    """The client went away before an outcome was known: somebody else may try."""
    return replace(health, trial_out=False) if health.trial_out else health


def probe_due(health: Health, now_s: float) -> bool:
    return health.service is Service.EJECTED and now_s >= health.until_s


def after_probe(health: Health, policy: EjectionPolicy, now_s: float, *, answered: bool) -> Health:
    """A probe came back; a late one about an engine that serves again changes nothing."""
    if health.service is not Service.EJECTED:
        return health
    if answered:
        return replace(health, service=Service.ON_TRIAL, trial_out=False)
    return replace(health, until_s=now_s + policy.eject_for_s)
