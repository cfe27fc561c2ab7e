"""Whether a patch fits a file, and what comes of it: whole lines, exactly as often as expected, never nearly."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum


class Fit(StrEnum):
    APPLIES = "applies"
    ALREADY = "already"  # what it would change is changed: mended upstream, or patched before
    DOES_NOT_APPLY = "does-not-apply"


@dataclass(frozen=True)
class Change:
    """What a patch does to a file. `sha256` is that of the file as it is in the image; empty: any."""

    expect: str
    replace: str
    count: int
    sha256: str = ""


@dataclass(frozen=True)
class Examined:
    """How a change fits, and the patched content where it applies."""

    fit: Fit
    reason: str
    patched: bytes | None = None


def examine(content: bytes, change: Change) -> Examined:
    """Compare a file with what a patch expects of it; nothing but the exact number of exact lines will do."""
    found, wanted = _places(content, change.expect), _places(content, change.replace)
    patched = _replaced(content, change) if len(found) == change.count else None
    told = f"{len(found)} of {change.count} expected place(s) found"
    if not found and len(wanted) >= change.count and change.replace.strip():
        return Examined(Fit.ALREADY, f"the file already holds the replacement {len(wanted)} time(s)")
    if change.sha256 and sha256_of(content) != change.sha256:
        return Examined(Fit.DOES_NOT_APPLY, f"the file's sha256 is {sha256_of(content)}, not {change.sha256}; {told}")
    if patched is None:
        return Examined(Fit.DOES_NOT_APPLY, told)
    return Examined(Fit.APPLIES, told, patched)


def diff(before: bytes, after: bytes, name: str) -> str:
    """The change as a unified diff, for a person."""
    old, new = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, after))
    lines = difflib.unified_diff(old, new, f"{name} (in the image)", f"{name} (patched)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def module_of(file: str) -> str:
    """The module that Python imports from this file: `vllm.utils.flashinfer`; empty where its path does not tell."""
    parts = file.removesuffix(".py").split("/")
    at = max((at for at, part in enumerate(parts) if part in ("site-packages", "dist-packages")), default=None)
    if at is None or not file.endswith(".py"):
        return ""
    names = parts[at + 1 : -1] if parts[-1] == "__init__" else parts[at + 1 :]
    return ".".join(names) if names and all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names) else ""


def _places(content: bytes, lines: str) -> list[int]:
    """Where these whole lines stand, not overlapping; a file's own line ends, of either kind, are accepted."""
    wanted, have = _as_lines(lines), [line.removesuffix(b"\r") for line in content.split(b"\n")]
    places, at = [], 0
    while wanted and at + len(wanted) <= len(have):
        if have[at : at + len(wanted)] == wanted:
            places.append(at)
            at += len(wanted)
        else:
            at += 1
    return places


def _replaced(content: bytes, change: Change) -> bytes:
    lines, expected, instead = content.split(b"\n"), _as_lines(change.expect), _as_lines(change.replace)
    for at in reversed(_places(content, change.expect)):
        end = b"\r" if lines[at].endswith(b"\r") else b""
        lines[at : at + len(expected)] = [line + end for line in instead]
    return b"\n".join(lines)


def _as_lines(text: str) -> list[bytes]:
    """One newline at the beginning and at the end belongs to TOML's triple quotes, not to the lines."""
    body = text.removeprefix("\n").removesuffix("\n")
    return [line.encode() for line in body.split("\n")] if body else []
