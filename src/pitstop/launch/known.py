"""What a launch value was seen to bring up, for launchers whose real command stands in somebody else's file.

A script, a compose file or a unit decides what runs; its launch value only says how it is called. So the first thing
that it brings up is remembered, and whatever is seen later is compared with that: a stale script that drops flags,
a relaunch by somebody else, or a knob that the script does not read, all show.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from pitstop.core.durable import write_durably
from pitstop.core.home import Home
from pitstop.launch.launcher import OBSERVED, LaunchSpec

_LOG = logging.getLogger(__name__)


def fingerprint(home: Home, spec: LaunchSpec, seen: str, sources: Iterable[str]) -> str:
    """The fingerprint of what was seen; it is remembered for the launch value when nothing was seen for it yet.

    `sources` are the files that decide: when a person edits one, what was seen before no longer binds.
    """
    path = home.engines / f"{spec.engine}.known.json"
    known = _read(path)
    key = f"{spec.fingerprint}/{_content(sources)}"
    answer, remember = judge(known, key, seen)
    if remember:
        _write(path, {**known, key: seen})
    return answer


def judge(known: Mapping[str, str], key: str, seen: str) -> tuple[str, bool]:
    """The fingerprint for `seen`, and whether it is new for `key` and to be remembered. Pure."""
    own = key.partition("/")[0]
    if known.get(key) == seen:
        return own, False
    source = key.partition("/")[2]
    others = [one for one, what in known.items() if what == seen and one.partition("/")[2] == source]
    if others:  # it is what another launch value brings up: a knob without effect, or a relaunch with the defaults
        return others[0].partition("/")[0], False
    if key not in known:
        return own, True
    return OBSERVED + seen, False


def digest(*parts: str) -> str:
    """Twelve hex digits over what was seen."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:12]


def _content(sources: Iterable[str]) -> str:
    total = hashlib.sha256()
    for source in sources:
        try:
            total.update(Path(source).read_bytes())
        except OSError:
            total.update(b"?")
    return total.hexdigest()[:12]


def _read(path: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _write(path: Path, known: dict[str, str]) -> None:
    try:
        write_durably(path, msgspec.json.encode(known))
    except OSError as error:
        _LOG.warning("%s could not be written: %s", path, error)
