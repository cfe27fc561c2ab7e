"""The sandboxes of the quality ruler for tests marked `real`: Docker with this machine's Python, and bubblewrap."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

from pitstop.core.config.quality import Sandbox
from support import docker_engine

IMAGE = "pitstop-sandbox:1"


@cache
def docker_sandbox() -> Sandbox:
    """An image with nothing in it; Python comes by read-only mounts, and our own code does not."""
    docker_engine.ensure()
    if subprocess.run(["docker", "image", "inspect", IMAGE], check=False, capture_output=True, timeout=60).returncode:
        subprocess.run(["docker", "import", "-", IMAGE], check=True, input=_empty(), capture_output=True, timeout=60)
    python = Path(sys.executable).resolve()
    mounts = tuple(dict.fromkeys(("/usr", "/lib", "/lib64", str(python.parents[1]))))
    return Sandbox(use="docker", image=IMAGE, python=str(python), mounts=mounts)


def _empty() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in ("./", "./dev", "./proc", "./sys", "./etc"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
    return buffer.getvalue()
