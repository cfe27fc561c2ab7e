"""What a container engine says about one container, and whether two containers are the same engine. Pure."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from pitstop.core.errors import EngineFailed
from pitstop.core.secrets import HIDDEN, digest, is_secret, redacted

LABEL_ENGINE = "pitstop.engine"
LABEL_FINGERPRINT = "pitstop.fingerprint"
POLICIES_THAT_REVIVE = ("always", "unless-stopped")

# The settings of a container's HostConfig that decide what runs. Others differ by client version without meaning.
_HOST_SETTINGS = (
    "AutoRemove", "CapAdd", "CapDrop", "CgroupParent", "CpuQuota", "CpuPeriod", "CpuShares", "CpusetCpus", "CpusetMems",
    "DeviceCgroupRules", "DeviceRequests", "Devices", "Dns", "ExtraHosts", "GroupAdd", "Init", "IpcMode", "LogConfig",
    "Memory", "MemorySwap", "NanoCpus", "NetworkMode", "OomKillDisable", "OomScoreAdj", "PidMode", "PidsLimit",
    "PortBindings", "Privileged", "ReadonlyRootfs", "Runtime", "SecurityOpt", "ShmSize", "StorageOpt", "Sysctls",
    "Tmpfs", "Ulimits", "UTSMode", "UsernsMode", "VolumesFrom",
)  # fmt: skip
_CONFIG_SETTINGS = ("User", "WorkingDir", "Domainname", "Tty", "StopSignal", "Healthcheck")
_ADDED_BY_RUNNING = ("env HOME", "env TERM", "env container")  # by Podman, to a container that has once run
_ANONYMOUS = re.compile(r"[0-9a-f]{64}")


class _State(msgspec.Struct, rename="pascal"):
    status: str = ""
    running: bool = False
    restarting: bool = False
    o_o_m_killed: bool = msgspec.field(default=False, name="OOMKilled")
    pid: int = 0
    exit_code: int = 0
    error: str = ""
    started_at: str = ""
    finished_at: str = ""


_Words = list[str] | str | None
_Bindings = dict[str, list[dict[str, Any] | None] | None] | None


class _Config(msgspec.Struct, rename="pascal"):
    """The form of what is read of a container's settings, wherever that is more than compared."""

    env: list[str] | None = None
    labels: dict[str, str] | None = None
    cmd: _Words = None
    entrypoint: _Words = None


class _Policy(msgspec.Struct, rename="pascal"):
    name: str | None = None
    maximum_retry_count: int | None = None


class _Host(msgspec.Struct, rename="pascal"):
    restart_policy: _Policy | None = None
    port_bindings: _Bindings = None


class _Network(msgspec.Struct, rename="pascal"):
    ports: _Bindings = None


class Container(msgspec.Struct, frozen=True):
    """The parts of `inspect` that pitstop reads; settings stay as the container engine wrote them."""

    id: str = msgspec.field(name="Id")
    name: str = msgspec.field(name="Name")
    image: str = msgspec.field(name="Image", default="")  # the content's own id
    path: str = msgspec.field(name="Path", default="")
    state: _State = msgspec.field(name="State", default_factory=_State)
    config: dict[str, Any] = msgspec.field(name="Config", default_factory=dict)
    host: dict[str, Any] = msgspec.field(name="HostConfig", default_factory=dict)
    mounts: list[dict[str, Any]] | None = msgspec.field(name="Mounts", default=None)
    network: dict[str, Any] | None = msgspec.field(name="NetworkSettings", default=None)

    @property
    def is_up(self) -> bool:
        """Running, and not in the pause between a crash and its restart."""
        return self.state.running and self.state.pid > 0

    @property
    def labels(self) -> dict[str, str]:
        return self.config.get("Labels") or {}

    @property
    def restart_policy(self) -> str:
        policy = self.host.get("RestartPolicy") or {}
        name, count = policy.get("Name") or "no", policy.get("MaximumRetryCount") or 0
        return f"{name}:{count}" if name == "on-failure" and count else name

    @property
    def environment(self) -> dict[str, str]:
        pairs = (item.partition("=") for item in self.config.get("Env") or ())
        return {key: value for key, _, value in pairs}

    @property
    def published_ports(self) -> set[int]:
        """Ports of the host that lead into it."""
        bindings = [*_values(self.host.get("PortBindings")), *_values((self.network or {}).get("Ports"))]
        ports = (str(one.get("HostPort") or "") for several in bindings for one in several or () if one)
        return {int(port) for port in ports if port.isdecimal()}


def parse(text: str) -> Container:
    """The container in the answer of `inspect`; EngineFailed when it is in no form that is known."""
    try:
        found = msgspec.json.decode(text, type=list[Container])
        for one in found:
            msgspec.convert(one.config, _Config)
            msgspec.convert(one.host, _Host)
            msgspec.convert(one.network or {}, _Network)
    except msgspec.MsgspecError as error:
        raise EngineFailed(f"the container engine's answer to `inspect` is not understood: {error}.") from error
    if len(found) != 1:
        raise EngineFailed(f"the container engine's answer to `inspect` holds {len(found)} containers, not one.")
    return found[0]


def settings_of(container: Container, engine: str, secrets: Collection[str] = ()) -> dict[str, Any]:
    """Everything that decides what the container runs, in one form for all who made it; secrets as hashes.

    `secrets` are variables that are secret though neither name nor value looks like it.
    """
    config, host = container.config, container.host
    settings: dict[str, Any] = {
        "image": container.image,
        "entrypoint": _words(config.get("Entrypoint")),
        "command": _words(config.get("Cmd")),
        "restart policy": container.restart_policy,
        "mounts": sorted((_mount(one) for one in container.mounts or ()), key=str),
    }
    settings |= {f"env {key}": _env(engine, key, value, key in secrets) for key, value in container.environment.items()}
    settings |= {f"label {key}": value for key, value in container.labels.items() if not key.startswith("pitstop.")}
    settings |= {key: config[key] for key in _CONFIG_SETTINGS if config.get(key)}
    settings |= {key: _plain(host[key]) for key in _HOST_SETTINGS if _plain(host.get(key))}
    # Podman adds to a container what only its running or its own folder can tell.
    settings.pop("env HOSTNAME", None)
    if isinstance(log := settings.get("LogConfig"), dict):
        settings["LogConfig"] = {key: value for key, value in log.items() if key not in ("Path", "Size")}
    return settings


def configured(container: Container, engine: str) -> str:
    """Twelve hex digits over `settings_of`."""
    return hashlib.sha256(msgspec.json.encode(settings_of(container, engine), order="sorted")).hexdigest()[:12]


def differences(
    running: Container, wanted: Container, engine: str, secret_digests: Mapping[str, str] | None = None
) -> list[str]:
    """What `running` has otherwise than `wanted`, each as a phrase; secrets are compared by hash and never shown.

    `secret_digests` are what the launch value says of its secrets: `wanted` was made without them.
    """
    secrets = secret_digests or {}
    have, want = settings_of(running, engine, secrets), settings_of(wanted, engine, secrets)
    want |= {f"env {key}": f"{HIDDEN}{value}" for key, value in secrets.items()}
    unasked = {key for key in _ADDED_BY_RUNNING if key not in want}
    keys = sorted({*have, *want} - unasked)
    return [phrase for key in keys for phrase in _difference(key, have.get(key), want.get(key))]


def exit_phrase(container: Container) -> str:
    """How a container that is down ended, as the container engine tells it."""
    memory = ", killed for want of memory" if container.state.o_o_m_killed else ""
    error = f" ({container.state.error})" if container.state.error else ""
    return f"exit code {container.state.exit_code}{memory}{error}"


def _difference(key: str, have: Any, want: Any) -> Iterator[str]:
    if have == want:
        return
    if key in ("command", "entrypoint"):
        yield f"{key}: {_changed_words(have or (), want or ())}"
    elif key.startswith("env ") and HIDDEN in f"{have}{want}":
        yield f"{key}: another value" if have and want else f"{key}: {'set' if have else 'not set'}"
    else:
        yield f"{key}: {_said(have)} instead of {_said(want)}"


def _changed_words(have: tuple[str, ...], want: tuple[str, ...]) -> str:
    have, want = tuple(redacted(have)), tuple(redacted(want))
    changes = []
    for kind, have_at, have_to, want_at, want_to in difflib.SequenceMatcher(
        None, have, want, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            option = f"{have[have_at - 1]}: " if have_at and have[have_at - 1].startswith("-") else ""
            changes.append(
                f"{option}{_said(' '.join(have[have_at:have_to]))} instead of {_said(' '.join(want[want_at:want_to]))}"
            )
    return ", ".join(changes)


def _said(value: Any) -> str:
    if value in (None, "", (), [], {}):
        return "nothing"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _env(engine: str, key: str, value: str, secret: bool) -> str:
    return f"{HIDDEN}{digest(engine, key, value)}" if secret or is_secret(key, value) else value


def _mount(mount: Mapping[str, Any]) -> dict[str, Any]:
    name = str(mount.get("Name") or "")
    anonymous = mount.get("Type") == "volume" and _ANONYMOUS.fullmatch(name) is not None
    source = "an anonymous volume" if anonymous else name or mount.get("Source")
    return {"at": mount.get("Destination"), "from": source, "writable": mount.get("RW", True)}


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):  # podman before 5 joins the entrypoint
        return tuple(value.split())
    return tuple(value or ())


def _plain(value: Any) -> Any:
    """One form for what different clients write for "nothing": None, "", 0, False and empty collections."""
    if isinstance(value, dict):
        kept = {key: _plain(inner) for key, inner in value.items()}
        return {key: inner for key, inner in kept.items() if inner not in (None, "", 0, False, [], {})}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


def _values(mapping: Any) -> list[Any]:
    return list(mapping.values()) if isinstance(mapping, dict) else []
