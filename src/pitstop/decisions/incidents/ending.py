"""How a process ended, and what its exit code proves: less than people think."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pitstop.core.errors import UsageError

_REVIVING = ("always", "unless-stopped", "on-failure")


@dataclass(frozen=True)
class EndState:
    """What `docker inspect` or `systemctl show` says of an end; None is "not told"."""

    running: bool | None = None
    code: int | None = None  # as Docker counts: 128 + the signal's number
    oom_killed: bool | None = None
    error: str = ""  # the engine's own words when it could not start a container
    started_at: str | None = None
    finished_at: str | None = None
    restart_policy: str = ""
    restarts: int | None = None
    name: str = ""
    engine: str = ""  # the label by which pitstop marks what it launched

    @property
    def finished_s(self) -> float | None:
        return _epoch(self.finished_at)

    @property
    def revives_after_zero(self) -> bool | None:
        """Whether its restart policy starts it again after exit code 0; None when the policy is not known."""
        if self.restart_policy == "":
            return None
        return self.restart_policy in ("always", "unless-stopped")


def parse_state(text: str, name: str) -> EndState:
    """Read the output of `docker inspect`, its State alone, or `systemctl show`; UsageError when it is neither."""
    stripped = text.strip().rstrip(",")
    candidate = stripped if stripped.startswith(("{", "[")) else f"{{{stripped}}}"
    try:
        found = json.loads(candidate)
    except ValueError:
        if (
            re.search(r"^(?:ExecMain(?:Status|Code)|Result|ActiveState)=", text, re.MULTILINE)
            or "ExecMainStatus=" in text
        ):
            return _systemd(text)
        raise UsageError(
            f"{name} is neither the JSON of `docker inspect` nor the text of `systemctl show`.",
            hint="Write it with: docker inspect NAME > FILE, or systemctl show UNIT > FILE.",
        ) from None
    if isinstance(found, list):
        found = found[0] if found else {}
    if not isinstance(found, dict) or not ("State" in found or "ExitCode" in found or "Status" in found):
        raise UsageError(
            f"{name} has no State, so it tells nothing of an end.",
            hint="Use `docker inspect` of a container, not of an image.",
        )
    return _docker(found)


def meaning(code: int) -> str:
    """What this exit code proves, in words."""
    if code == 0:
        return "exit code 0: it ended by its own decision, which after an internal error is a crash all the same"
    if code == 137:
        return "exit code 137: it was killed (SIGKILL); the code does not say by whom, nor that memory was out"
    if code in _CODES:
        return f"exit code {code}: {_CODES[code]}"
    number = code - 128 if code > 128 else -code if code < 0 else None
    if number is not None:
        return f"exit code {code}: it was ended by {_signal_name(number)}"
    return f"exit code {code}: it gave up by itself"


_CODES = {
    1: "it gave up by itself; why is for the log to say",
    2: "it was called with arguments that it does not take",
    125: "the container engine could not run the container",
    126: "its command cannot be executed",
    127: "its command was not found",
    130: "it was interrupted (SIGINT)",
    134: "it aborted itself (SIGABRT): a library's assertion failed",
    135: "it was ended by SIGBUS: memory behind a mapping was gone, often a full /dev/shm",
    139: "it read memory that it does not have (SIGSEGV)",
    143: "it was asked to end (SIGTERM), and did",
}


def _docker(found: dict[str, Any]) -> EndState:
    state = found.get("State") if isinstance(found.get("State"), dict) else found
    assert isinstance(state, dict)
    host = found.get("HostConfig") if isinstance(found.get("HostConfig"), dict) else {}
    config = found.get("Config") if isinstance(found.get("Config"), dict) else {}
    assert isinstance(host, dict)
    assert isinstance(config, dict)
    policy = host.get("RestartPolicy") or {}
    labels = config.get("Labels") or {}
    running = _typed(state.get("Running"), bool)
    if running is None and isinstance(state.get("Status"), str):
        running = state["Status"] in ("running", "paused", "restarting")
    code = _typed(state.get("ExitCode"), int)
    return EndState(
        running=running,
        code=None if running else code,
        oom_killed=_typed(state.get("OOMKilled"), bool),
        error=_typed(state.get("Error"), str) or "",
        started_at=_time(state.get("StartedAt")),
        finished_at=_time(state.get("FinishedAt")),
        restart_policy=policy.get("Name", "") if isinstance(policy, dict) else "",
        restarts=_typed(found.get("RestartCount"), int),
        name=str(found.get("Name") or "").lstrip("/"),
        engine=labels.get("pitstop.engine", "") if isinstance(labels, dict) else "",
    )


def _systemd(text: str) -> EndState:
    said = dict(re.findall(r"([A-Za-z]+)=(\S*)", text))
    status, how = said.get("ExecMainStatus", ""), said.get("ExecMainCode", "")
    code = int(status) if status.isdigit() else None
    if code is not None and how in ("2", "3", "killed", "dumped"):
        code += 128  # CLD_KILLED and CLD_DUMPED: the status is a signal's number
    active = said.get("ActiveState")
    return EndState(
        running=None if active is None else active in ("active", "activating", "reloading"),
        code=code,
        oom_killed=True if said.get("Result") == "oom-kill" else None,
        restart_policy=said.get("Restart", ""),
        restarts=int(said["NRestarts"]) if said.get("NRestarts", "").isdigit() else None,
        name=said.get("Id", ""),
    )


def _typed(value: Any, kind: type) -> Any:
    return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else None


def _time(value: Any) -> str | None:
    """Docker writes year 1 for "never"."""
    return value if isinstance(value, str) and not value.startswith("0001-") else None


def _epoch(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
