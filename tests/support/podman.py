"""A real Podman for tests marked `real`: its settings where the kernel is shared, and the base image in its store."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from support import docker_engine

# crun, Podman's own choice, does not start where the kernel has both versions of control groups mounted.
CONF = '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
# Podman would raise these limits above what a machine inside a machine may have.
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096")


def ensure() -> None:
    """Install what is missing; CalledProcessError with the reason."""
    docker_engine.ensure()
    if shutil.which("podman") is None:
        install = ["apt-get", "install", "-y", "-qq", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends"]
        subprocess.run([*install, "podman", "crun"], check=True, timeout=600)


def environ(folder: Path) -> dict[str, str]:
    """What Podman's settings are found by."""
    (folder / "containers.conf").write_text(CONF)
    return {"CONTAINERS_CONF": str(folder / "containers.conf")}


def image(folder: Path) -> str:
    """The base image in Podman's own store, by its name there."""
    if not _image():
        archive = folder / "base.tar"
        _run("docker", "save", "--output", str(archive), docker_engine.IMAGE)
        _run("podman", "load", "--input", str(archive))
        archive.unlink()
    return _image()


def _image() -> str:
    names = _run("podman", "images", "--format", "{{.Repository}}:{{.Tag}}").split()
    return next((name for name in names if name.endswith("pitstop-base:1")), "")


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300).stdout.strip()
