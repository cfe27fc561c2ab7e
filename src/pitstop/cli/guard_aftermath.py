"""Run by the guard's process once it has killed: `python -m pitstop.cli.guard_aftermath HOME CONFIG EVIDENCE`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path


def main(home_folder: str, config_file: str, evidence: str) -> int:
    """File the incident and notify; returns 0 when both were done, 1 when something is left to say."""
    from pitstop.core.config.host import Host
    from pitstop.core.config.load import load
    from pitstop.core.errors import PitstopError
    from pitstop.core.home import Home
    from pitstop.services.guard.aftermath import tell

    host = Host()
    try:
        host = load(Path(config_file)).host if config_file else host
    except PitstopError as error:
        sys.stderr.write(f"guard: the configuration names nobody to tell: {error.message}\n")
    try:
        problems = asyncio.run(tell(Path(evidence), Home(Path(home_folder)), host, os.environ))
    except (OSError, ValueError, TypeError) as error:
        problems = [f"the evidence at {evidence} is unreadable: {error}"]
    for problem in problems:
        sys.stderr.write(f"guard: {problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
