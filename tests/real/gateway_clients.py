"""The official `openai` and `anthropic` clients in an environment of their own: `python tests/real/gateway_clients.py`.

Prints the Python of that environment. It lies in `$PITSTOP_REAL_CACHE`, by default `~/.cache/pitstop-real`, because no
client library belongs into pitstop's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CLIENTS = ("openai==3.57.0", "anthropic==2.14.0")


def clients_python() -> Path:
    """A Python that can import both, installed when it is not there."""
    cache = Path(os.environ.get("PITSTOP_REAL_CACHE") or Path.home() / ".cache/pitstop-real")
    folder = cache / "gateway-clients"
    python = folder / "bin/python"
    done = folder / ".complete"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *CLIENTS], check=True, timeout=600)
        done.touch()
    return python


if __name__ == "__main__":
    sys.stdout.write(f"{clients_python()}\n")
