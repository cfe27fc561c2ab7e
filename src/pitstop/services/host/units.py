"""systemd's words: quoting, sections, and the names under which engines have their units. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pitstop.core.config.engine import DockerLaunch, Engine, Launch, ScriptLaunch, SystemdLaunch

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@_-+=:,./")


def unit_of(name: str, engine: Engine) -> str:
    """The unit that starts this engine, or would start it: named after its container, as people do."""
    match engine.launch:
        case SystemdLaunch(unit=unit):
            return unit if "." in unit else f"{unit}.service"
        case DockerLaunch(name=container):
            return f"{container}.service"
    return f"pitstop-{name}.service"


def container_of(launch: Launch | None) -> str:
    """The container that an engine runs in, where the configuration names one."""
    match launch:
        case DockerLaunch(name=name):
            return name
        case ScriptLaunch(container=container) | SystemdLaunch(container=container):
            return container
    return ""


def quoted(word: str) -> str:
    """One word of a command line in a unit: `%` and `$` are systemd's own signs, a line end ends the setting."""
    escaped = word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$").replace("\n", "\\n").replace("\t", "\\t")
    if word and set(word) <= _PLAIN:
        return escaped
    return '"' + escaped.replace('"', '\\"') + '"'


def command_line(argv: Sequence[str], indent: str = "  ") -> str:
    """A command over several lines, an option with its value on each, readable and comparable word for word."""
    lines, at = [quoted(argv[0])], 1
    while at < len(argv):
        takes_value = argv[at].startswith("-") and "=" not in argv[at] and at + 1 < len(argv)
        width = 2 if takes_value and not argv[at + 1].startswith("-") else 1
        lines.append(" ".join(quoted(word) for word in argv[at : at + width]))
        at += width
    return f" \\\n{indent}".join(lines)


def unit_text(comment: str, **sections: Mapping[str, str | Sequence[str]]) -> str:
    """A unit file; a setting with several values is written once per value."""
    parts = ["".join(f"# {line}\n" for line in comment.splitlines())] if comment else []
    for section, settings in sections.items():
        lines = [f"[{section}]"]
        for key, value in settings.items():
            lines += [f"{key}={one}" for one in ([value] if isinstance(value, str) else value)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts) if not comment else parts[0] + "\n".join(parts[1:])
