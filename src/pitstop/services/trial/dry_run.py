"""Every step that a trial would do, with what it would run. Pure."""

from __future__ import annotations

import shlex
from typing import Any

from pitstop.core.units import format_duration, format_size
from pitstop.decisions.trial import Boot
from pitstop.launch.kept_images import keep_argv
from pitstop.launch.steps import start_steps, stop_steps
from pitstop.services.trial.images import known_images
from pitstop.services.trial.promise import Arm, Promise

Step = dict[str, Any]  # `step`, `does` in words, `runs` as lines, and which boot


def steps_of(promise: Promise) -> list[Step]:
    """The steps in order, as they would stand in the journal when everything goes well."""
    production = promise.arms[0]
    found = [_step("wait-idle", _waits(promise)), _take_down(promise)]
    for boot in promise.boots:
        arm = promise.arms[boot.arm]
        found += [_boot(promise, boot, arm), _measure(promise, boot, arm), _stop(boot, arm)]
    found.append(_step("restore", "start production as it was, and wait until it serves", start_steps(production.spec)))
    proof = f"fingerprint {production.spec.fingerprint}, and one token really generated"
    return [*found, _step("prove", proof), _step("finish", "verdicts, ledger; the gateway's door opens")]


def _waits(promise: Promise) -> str:
    trial = promise.trial
    window = f", within {trial.window}" if trial.window else ""
    return (
        f"wait until production has served nothing for {format_duration(float(trial.idle_for))}{window}; "
        f"give up after {format_duration(float(trial.give_up_after))}; shut the gateway's door"
    )


def _take_down(promise: Promise) -> Step:
    """Whatever is launched as a container has its image kept; of docker's arms it is known beforehand."""
    production = promise.arms[0].spec
    binary = production.options.get("binary", "docker")
    kept = [shlex.join(keep_argv(binary, promise.id, image)) for image in dict.fromkeys(known_images(promise))]
    words = "keep the images from being cleaned away, and stop production" if kept else "stop production"
    return _step("take-down", words, [*kept, *stop_steps(production)])


def _boot(promise: Promise, boot: Boot, arm: Arm) -> Step:
    floor = format_size(promise.trial.guard.min_available)
    words = f"wait until memory is back, then start {arm.name} under a guard with a floor of {floor}"
    return _step("boot", words, start_steps(arm.spec), boot, arm)


def _measure(promise: Promise, boot: Boot, arm: Arm) -> Step:
    words = f"measure {arm.name} by {', '.join(promise.trial.rulers)}, its identity before and after each"
    return _step("measure", words, [], boot, arm)


def _stop(boot: Boot, arm: Arm) -> Step:
    return _step("stop", f"stop {arm.name}", stop_steps(arm.spec), boot, arm)


def _step(
    step: str, does: str, runs: list[str] | None = None, boot: Boot | None = None, arm: Arm | None = None
) -> Step:
    where = {"block": boot.block, "arm": arm.name} if boot and arm else {}
    return {"step": step, **where, "does": does, "runs": runs or []}
