"""`[patch.NAME]`: a source change that belongs to one image."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from pitstop.core.config.nearest import nearest

if TYPE_CHECKING:
    from pitstop.core.config.engine import Engine

_DIGEST = re.compile(r"(?:.+@)?sha256:[0-9a-f]{64}")
_HASH = re.compile(r"[0-9a-f]{64}")


class Patch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whole lines are replaced, exactly where and as often as it says; there is no fuzz."""

    engine: str  # whose image is patched
    image: str  # what it was made for: `repository:tag@sha256:…`, or the id of a local image, `sha256:…`
    file: str  # inside the image
    expect: str  # one line, or several with newlines between them, blanks included
    replace: str  # the lines that take their place
    count: int = 1  # how often `expect` must be there
    sha256: str = ""  # of the file as it is in the image; empty: only the lines are looked at
    module: str = ""  # what Python imports from this file; empty: told from its path
    folder: str = ""  # where the patched file is written; empty: under the state folder
    upstream: str = ""  # the issue, for the day when it is fixed there


def patch_contradictions(patches: Mapping[str, Patch], engines: Mapping[str, Engine]) -> Iterator[str]:
    """Yield a sentence for everything in the patches that cannot work, with its key."""
    for name, patch in patches.items():
        where = f"patch.{name}"
        if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name) is None:
            yield f"`{where}`: a patch's name becomes a file's; use letters, digits, `-`, `_` and `.`"
        if patch.engine not in engines:
            yield f"`{where}.engine`: there is no engine {patch.engine!r}{nearest(patch.engine, engines)}"
        if _DIGEST.fullmatch(patch.image) is None:
            yield f"`{where}.image`: a patch belongs to one digest; write repository:tag@sha256:… with its 64 digits"
        yield from _change(where, patch)


def _change(where: str, patch: Patch) -> Iterator[str]:
    if not patch.file.startswith("/") or "/../" in f"{patch.file}/" or patch.file.endswith("/"):
        yield f"`{where}.file`: must be the absolute path of a file inside the image"
    if not patch.expect.strip("\n") or patch.expect.strip("\n") == patch.replace.strip("\n"):
        yield f"`{where}.expect`: must be at least one line, and another one than `replace`"
    if patch.count < 1:
        yield f"`{where}.count`: at least one place must be changed, not {patch.count}"
    if patch.sha256 and _HASH.fullmatch(patch.sha256) is None:
        yield f"`{where}.sha256`: is not the 64 hexadecimal digits of a sha256"
