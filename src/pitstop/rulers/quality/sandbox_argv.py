"""The command lines of the sandboxes: pure, so that a test can hold every one of their restrictions."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from pitstop.core.config.quality import Sandbox

NOBODY = "65534:65534"
_PROCESSES = 16  # Python needs one; the tested code may start none, whichever of the limits it meets first
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32")


class Mode(StrEnum):
    DOCKER = "docker"
    PODMAN = "podman"
    BUBBLEWRAP = "bubblewrap"


def modes_for(settings: Sandbox) -> Iterator[Mode]:
    """What may be tried, in order: containers first, bubblewrap where there are none."""
    if settings.use == "auto":
        yield from Mode
    elif settings.use != "none":
        yield Mode(settings.use)


def container_argv(mode: Mode, settings: Sandbox, name: str, program: str) -> list[str]:
    """`docker run` with nothing left: no network, no file to write, no privilege, little memory, few processes."""
    mounts = [part for folder in settings.mounts for part in ("--volume", f"{folder}:{folder}:ro")]
    memory = f"{settings.memory_mib + 64}m"  # and what Python itself takes
    return [
        mode.value, "run", "--rm", "--interactive", "--pull", "never", "--name", name,
        "--network", "none", "--ipc", "none", "--read-only", "--user", NOBODY,
        "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
        "--memory", memory, "--memory-swap", memory, "--pids-limit", str(_PROCESSES), "--cpus", "1",
        "--log-driver", "none", "--hostname", "sandbox", "--workdir", "/", *mounts,
        "--entrypoint", settings.python, settings.image, "-I", "-S", "-c", program,
    ]  # fmt: skip


def bubblewrap_argv(settings: Sandbox, program: str, *, as_root: bool) -> list[str]:
    """`bwrap` with the system read-only and Python in it, every namespace its own, and nothing else of the host.

    Root becomes nobody inside, by `setpriv`: limits on processes do not hold for root, whatever it is called in there.
    """
    python = _host_python(settings)
    shown = [path for path in (*_SYSTEM, *settings.mounts) if Path(path).exists()]
    shown += [] if _within(python, shown) else [str(python.parent.parent)]
    binds = [part for path in shown for part in _bind(path)]
    return [
        "bwrap", *(_ROOT_BECOMES_NOBODY if as_root else _NOBODY), "--die-with-parent", "--new-session", "--clearenv",
        "--hostname", "sandbox", *binds, *_hidden(shown),
        "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/",
        *(_SETPRIV if as_root else ()), str(python), "-I", "-S", "-c", program,
    ]  # fmt: skip


_NOBODY = ("--unshare-all", "--cap-drop", "ALL", "--uid", "65534", "--gid", "65534")
_ROOT_BECOMES_NOBODY = (
    "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP",
)  # fmt: skip
_SETPRIV = ("/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all", "--no-new-privs")  # fmt: skip


def _host_python(settings: Sandbox) -> Path:
    """The system's own, where nothing else is named: what is first in PATH may be a shim that starts others."""
    named = settings.python if "/" in settings.python else f"/usr/bin/{settings.python}"
    return Path(named if Path(named).exists() else shutil.which(settings.python) or sys.executable).resolve()


def _bind(path: str) -> tuple[str, ...]:
    """A folder read-only; on a merged-usr system /bin and others are links, which stay links."""
    if Path(path).is_symlink():
        return ("--symlink", str(Path(path).readlink()), path)
    return ("--ro-bind", path, path)


def _hidden(shown: list[str]) -> tuple[str, ...]:
    """Our own code holds the references of the coding tasks; where it would be shown, an empty folder covers it."""
    ours = Path(__file__).resolve().parents[2]
    return ("--tmpfs", str(ours), "--remount-ro", str(ours)) if _within(ours, shown) else ()


def _within(path: Path, folders: list[str]) -> bool:
    return any(path.is_relative_to(Path(folder).resolve()) for folder in folders)
