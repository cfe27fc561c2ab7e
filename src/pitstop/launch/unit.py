"""What systemd says about a unit, and what pitstop writes beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pitstop.launch import known

DROP_IN = "50-pitstop.conf"
SECRETS = "50-pitstop.env"
SECRETS_PLACE = "@SECRETS@"
PROPERTIES = (
    "LoadState", "ActiveState", "SubState", "Result", "MainPID", "ExecMainCode", "ExecMainStatus", "FragmentPath",
    "DropInPaths", "NeedDaemonReload", "TriggeredBy", "ExecStart", "Environment", "Restart", "Transient",
)  # fmt: skip
# From the manager's view: a unit in these states has processes.
_UP = ("active", "activating", "reloading", "deactivating")
_CLD_EXITED = "1"  # waitid's si_code, which systemd prints as a number


@dataclass(frozen=True)
class Unit:
    """One unit, as `systemctl show` tells it."""

    load: str
    active: str
    result: str
    main_pid: int
    exit_state: int | None  # exit code, or the signal as a negative number
    files: tuple[str, ...]  # its own file and its drop-ins
    needs_reload: bool
    triggered_by: tuple[str, ...]
    transient: bool
    command: str
    environment: str

    @property
    def is_loaded(self) -> bool:
        return self.load == "loaded"

    @property
    def is_up(self) -> bool:
        return self.active in _UP and self.main_pid > 0


def parse(text: str) -> Unit:
    """Read the output of `systemctl show --property=…`; what is missing is empty."""
    said = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    files = [said.get("FragmentPath", ""), *said.get("DropInPaths", "").split()]
    return Unit(
        load=said.get("LoadState", ""),
        active=said.get("ActiveState", ""),
        result=said.get("Result", ""),
        main_pid=_number(said.get("MainPID", "")) or 0,
        exit_state=_exit_state(said.get("ExecMainCode", ""), said.get("ExecMainStatus", "")),
        files=tuple(file for file in files if file),
        needs_reload=said.get("NeedDaemonReload") == "yes",
        triggered_by=tuple(said.get("TriggeredBy", "").split()),
        transient=said.get("Transient") == "yes",
        command=_settled(said.get("ExecStart", "")),
        environment=said.get("Environment", ""),
    )


def why_not(unit: Unit, env: Mapping[str, str] = MappingProxyType({})) -> str:
    """Why a unit could not be stopped and brought back as it is with `env` set, in a sentence, or ""."""
    if not unit.is_loaded:
        return f"there is no such unit that could be started ({unit.load or 'unknown'})."
    if unit.transient:
        return "it is a transient unit, which is gone for good once it stops."
    if unit.needs_reload and unit.is_up:
        return (
            "its files were edited after it was started (systemctl daemon-reload), so another engine would come back."
        )
    if unit.triggered_by:
        return f"{', '.join(unit.triggered_by)} would start it again in the middle of a test; stop that first."
    unset = [key for key, value in env.items() if f"{key}={value}" not in unit.environment]
    if unset and unit.is_up:
        return f"it runs without {', '.join(unset)} as configured, so another engine would come back."
    return ""


def seen(unit: Unit) -> str:
    """A hash of what the unit runs: its command and its environment."""
    return known.digest(unit.command, unit.environment)


def drop_in(env: Mapping[str, str], is_variant: bool, secrets: Mapping[str, str]) -> str:
    """The drop-in that turns the knobs, or "" when nothing is to be set. A variant that dies must stay dead."""
    lines = [f"Environment={_quoted(f'{key}={value}')}" for key, value in env.items()]
    if secrets:
        lines.append(f"EnvironmentFile={SECRETS_PLACE}")
    if is_variant:
        lines.append("Restart=no")
    return "\n".join(["# Written by pitstop; a reboot removes it.", "[Service]", *lines, ""]) if lines else ""


def environment_file(secrets: Mapping[str, str]) -> str:
    """The text of an EnvironmentFile=: one NAME="value" a line."""
    return "".join(f"{key}={_quoted(value, specifiers=False)}\n" for key, value in secrets.items())


def _quoted(text: str, *, specifiers: bool = True) -> str:
    r"""As systemd.syntax(7) wants it: in double quotes, `\` and `"` escaped, `%` doubled where specifiers count."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped.replace("%", "%%") if specifiers else escaped}"'


def _settled(exec_start: str) -> str:
    """ExecStart= without the parts that change with every start (times, pid, state)."""
    return exec_start.partition(" ; start_time=")[0]


def _exit_state(code: str, status: str) -> int | None:
    number = _number(status)
    if number is None or code in ("", "0"):
        return None
    return number if code == _CLD_EXITED else -number


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
