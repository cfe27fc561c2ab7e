"""Whether what lies over a file of an image is the patch, and whether the engine's Python imports it."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.decisions.patching import Change, Fit, examine, sha256_of


@dataclass(frozen=True)
class Laid:
    """What a container has in place of the file that a patch is for."""

    source: str  # on the host
    content: bytes | None  # None: it cannot be read
    made_for: str  # the image of the patch
    image: str  # the image of the container
    is_bound: bool  # whether the two are the same


@dataclass(frozen=True)
class Loaded:
    """What the engine's own Python would import, as it sees it."""

    module: str
    file: str | None  # None: it finds no such module
    sha256: str | None


def misfit(laid: Laid, change: Change) -> str:
    """Why what is mounted is not the patch for this image; "" when it is."""
    if not laid.is_bound:
        return f"it belongs to {laid.made_for}, and {laid.source} is mounted over {laid.image}"
    if laid.content is None:
        return f"{laid.source}, which is mounted, cannot be read, so nobody knows whether it is what the patch makes"
    why = unlike(laid.content, change)
    return f"{laid.source}, which is mounted, is not what the patch makes ({why})" if why else ""


def unlike(content: bytes, change: Change) -> str:
    """Why a file cannot be what the change made: it must hold the replacement, and nothing of what it replaces."""
    if not change.replace.strip():  # lines that are taken away leave nothing behind that could be looked for
        left = examine(content, Change(change.expect, change.replace, count=0))
        return "" if left.fit is Fit.APPLIES else "the lines that it takes away are still there"
    found = examine(content, Change(change.expect, change.replace, change.count))
    return "" if found.fit is Fit.ALREADY else found.reason


def without_effect(laid: Laid, loaded: Loaded, file: str) -> str:
    """Why a patch that is mounted over `file` as it should be has no effect; "" when it has."""
    if loaded.file is None:
        return f"the engine's Python finds no module {loaded.module}"
    if laid.content is not None and loaded.sha256 == sha256_of(laid.content):
        return ""
    if loaded.file != file:
        return f"the engine imports another file from {loaded.file}, not from {file}: the patch has no effect"
    return f"the engine imports another content than {laid.source} has now: it was changed after the launch"
