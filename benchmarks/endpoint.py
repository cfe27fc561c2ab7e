"""The endpoint that knows the truth, in a process of its own, and the requests that tell it how to behave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pitstop.client.endpoint import ChatRequest

ROOT = Path(__file__).parent.parent


@contextmanager
def paced(*options: str) -> Iterator[str]:
    """Start it; gives its base URL."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, "-m", "support.paced", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def request(name: str, max_tokens: int, **pace: Any) -> ChatRequest:
    """A request that the endpoint lists in its truths under `name`."""
    return ChatRequest(({"role": "user", "content": "x"},), max_tokens, extra={"user": name, "paced": pace})


def truths(base_url: str) -> dict[str, dict[str, Any]]:
    """What the endpoint did, by name of the request."""
    with urllib.request.urlopen(base_url.removesuffix("/v1") + "/truth", timeout=10) as reply:
        return {truth["name"]: truth for truth in json.load(reply)}


def row(*cells: object) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(*cells: str) -> str:
    """The first two lines of a Markdown table."""
    return row(*cells) + "\n" + row(*["---"] * len(cells))
