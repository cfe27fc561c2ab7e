"""Hold files: `$PITSTOP_HOME/gateway/held/ENGINE.json`, on disk, so that a gateway that starts meanwhile obeys too.

A hold counts as long as the process that asked for it lives. After that only the lease, which outlives its holder,
keeps the door shut: a forgotten file must not shut out clients for good.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from pitstop.core.durable import remove_durably, write_durably
from pitstop.core.home import Home
from pitstop.core.process_id import ProcessId, is_alive, own_id


class Holding(msgspec.Struct, frozen=True):
    holder: ProcessId


def hold(home: Home, engine: str) -> None:
    """Shut the door of `engine` on behalf of this process; OSError when it could not be written."""
    folder = _folder(home)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_durably(folder / _file_name(engine), msgspec.json.encode(Holding(own_id())))


def unhold(home: Home, engine: str) -> None:
    """Open it again; no error when it was open."""
    if _folder(home).is_dir():
        remove_durably(_folder(home) / _file_name(engine))


def held_by_file(home: Home) -> set[str]:
    """Engines whose door a living process holds; a torn or foreign file holds nothing."""
    return {unquote(path.stem) for path in _folder(home).glob("*.json") if _counts(path)}


def _counts(path: Path) -> bool:
    try:
        return is_alive(msgspec.json.decode(path.read_bytes(), type=Holding).holder)
    except (OSError, ValueError):
        return False


def _folder(home: Home) -> Path:
    return home.root / "gateway" / "held"


def _file_name(engine: str) -> str:
    return f"{quote(engine, safe='').replace('.', '%2E')}.json"
