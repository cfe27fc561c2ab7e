"""Signatures from files: pitstop's own, and those of the user's folder, which are tried first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

from pitstop.core.errors import UsageError
from pitstop.decisions.incidents.signatures import Catalogue, Signature, parse_signatures


def catalogue(folders: Iterable[Path]) -> Catalogue:
    """The user's signatures, then pitstop's own; one of the user's with a known id takes the place of ours."""
    own = [one for folder in folders for one in _of_folder(folder)]
    names = {one.id for one in own}
    ours = [one for one in built_in() if one.id not in names]
    return Catalogue([*own, *ours])


def built_in() -> tuple[Signature, ...]:
    text = files("pitstop.services.incidents").joinpath("signatures.toml").read_text("utf-8")
    return parse_signatures(text, "pitstop's signatures")


def user_folders(environ: Mapping[str, str]) -> list[Path]:
    """`$PITSTOP_SIGNATURES` (folders separated by `:`), or `~/.config/pitstop/signatures`."""
    named = environ.get("PITSTOP_SIGNATURES")
    if named:
        return [Path(part) for part in named.split(os.pathsep) if part]
    return [Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "pitstop/signatures"]


def _of_folder(folder: Path) -> Iterable[Signature]:
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*.toml")):
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the signatures in {path} cannot be read: {error}.") from error
        yield from parse_signatures(text, str(path))
