"""Wait until a launched engine serves, and be sure that it is this engine that answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pitstop.client.endpoint import Endpoint
from pitstop.core.errors import EngineFailed, RequestRefused
from pitstop.core.units import format_duration
from pitstop.engines.adapter import Adapter, Readiness, ReadinessReport
from pitstop.launch.launcher import Launcher, LaunchSpec, Running

Progress = Callable[[str, float], None]  # what it waits for, seconds since it began
_POLL_S = 0.25
_SLOW_POLL_S = 2.0  # after the first half minute: a model that loads for minutes is not asked four times a second
_GONE_TWICE = 2  # an engine that re-executes itself is out of sight for a moment
_TAIL_LINES = 20


def silent(_waits_for: str, _elapsed_s: float) -> None:
    """Show nothing."""


async def ready(
    launcher: Launcher,
    spec: LaunchSpec,
    adapter: Adapter,
    endpoint: Endpoint,
    boot_timeout_s: float,
    *,
    progress: Progress = silent,
) -> Running:
    """Return when the engine answers and lists its model; EngineFailed, with its log's last lines, when it does not.

    RequestRefused when it answers 401 or 403, or serves another model: waiting longer would not help.
    """
    began = _now_s()
    gone = 0
    while True:
        elapsed = _now_s() - began
        running = await launcher.inspect(spec)
        gone = 0 if running is not None else gone + 1
        if gone >= _GONE_TWICE:
            raise EngineFailed(
                f"engine {spec.engine} died {format_duration(elapsed)} after its start{await _how(launcher, spec)}.",
                hint=await _log(launcher, spec),
            )
        report = await adapter.readiness(endpoint, deadline_s=min(5.0, max(0.5, boot_timeout_s - elapsed)))
        if running is not None and await _is_served(launcher, spec, report):
            return running
        progress(report.detail or report.readiness.value, elapsed)
        if _now_s() - began > boot_timeout_s:
            await _time_is_up(launcher, spec, report, boot_timeout_s)
        await asyncio.sleep(_POLL_S if elapsed < 30 else _SLOW_POLL_S)


async def ending(launcher: Launcher, spec: LaunchSpec) -> str:
    """How an engine that is down ended, as far as anybody knows, with its last lines."""
    return f"engine {spec.engine} died{await _how(launcher, spec)}. {await _log(launcher, spec)}"


async def _is_served(launcher: Launcher, spec: LaunchSpec, report: ReadinessReport) -> bool:
    """Whether this engine answers as it should; raises when somebody else does, or when it never will."""
    if report.readiness in (Readiness.UNREACHABLE, Readiness.LOADING):
        return False
    await _refuse_stranger(launcher, spec)
    if report.readiness is Readiness.WRONG_MODEL and not report.models:
        return False  # a server that lists nothing yet is still loading
    if report.readiness is Readiness.READY:
        return True
    if report.readiness is Readiness.REFUSED:
        raise RequestRefused(
            f"engine {spec.engine} refuses the key: {report.detail or '401 or 403'}.",
            hint="Set the variable that `api_key_env` names to the key that the engine was started with.",
        )
    raise RequestRefused(
        f"engine {spec.engine} serves {', '.join(report.models) or 'no model'}, not the configured one"
        f"{f': {report.detail}' if report.detail else ''}.",
        hint="Make `model` the name that the engine serves (vLLM: --served-model-name).",
    )


async def _refuse_stranger(launcher: Launcher, spec: LaunchSpec) -> None:
    stranger = await launcher.foreign_listener(spec)
    if stranger:
        raise EngineFailed(
            f"port {spec.port} is held by {stranger}, which is not the engine {spec.engine} that was started.",
            hint="Nothing was measured on it. Stop that program, then try again.",
        )


async def _time_is_up(launcher: Launcher, spec: LaunchSpec, report: ReadinessReport, boot_timeout_s: float) -> None:
    await _refuse_stranger(launcher, spec)
    raise EngineFailed(
        f"engine {spec.engine} was not ready within {format_duration(boot_timeout_s)} "
        f"({report.detail or report.readiness.value}).",
        hint=await _log(launcher, spec, "If it only needs longer, raise its boot_timeout."),
    )


async def _how(launcher: Launcher, spec: LaunchSpec) -> str:
    state = await launcher.exit_state(spec)
    if state is None:
        return ""
    return f" with exit code {state}" if state >= 0 else f", killed by signal {-state}"


async def _log(launcher: Launcher, spec: LaunchSpec, advice: str = "") -> str:
    lines = await launcher.log_tail(spec, _TAIL_LINES)
    path = launcher.log_path(spec)
    said = "\n".join(["Its last lines:", *(f"  {line}" for line in lines)]) if lines else "Its log says nothing."
    return "\n".join(part for part in (said, f"The whole log: {path}" if path else "", advice) if part)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
