"""A real Docker Engine for tests marked `real`."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "real" / "docker_engine"
IMAGE = "pitstop-base:1"


@cache
def ensure() -> None:
    """Install and start what is missing; raises CalledProcessError with the reason on stderr."""
    subprocess.run([SCRIPT], check=True, timeout=600)


@cache
def mounts() -> tuple[str, ...]:
    """The `docker run` options that give a container this machine's Python and this checkout."""
    done = subprocess.run([SCRIPT, "mounts"], check=True, timeout=60, capture_output=True, text=True)
    return tuple(done.stdout.split())
