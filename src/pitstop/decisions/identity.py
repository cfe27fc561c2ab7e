"""Whether the engine that was measured is the one that was ordered, from the first request to the last."""

from __future__ import annotations

from pitstop.core.documents import EngineIdentity

_NAMES = {
    "fingerprint": "launch fingerprint",
    "version": "version",
    "model": "model",
    "image_digest": "image",
    "container_id": "container",
    "pid": "process",
    "started_at": "start time",
}


def mismatch(ordered: str | None, before: EngineIdentity, after: EngineIdentity) -> str:
    """Why figures measured between two looks are invalid, and which engine answered; empty when they are not.

    `ordered` is the fingerprint of the launch value that was to be measured; None for a server that pitstop did not
    launch. What is unknown on both sides is no difference; what became unknown is one.
    """
    for moment, seen in (("before", before), ("after", after)):
        if ordered is not None and seen.fingerprint != ordered:
            return f"the engine {moment} the measurement was not the one ordered ({ordered}): {described(seen)}"
    for field, name in _NAMES.items():
        was, now = getattr(before, field), getattr(after, field)
        if was != now:
            return f"the engine changed during the measurement ({name}: {was} before, {now} after): {described(after)}"
    return ""


def described(seen: EngineIdentity) -> str:
    """An engine in a few words."""
    parts = [
        f"{seen.kind} {seen.version or 'of unknown version'}",
        f"model {seen.model}",
        f"fingerprint {seen.fingerprint or 'none'}",
        f"up since {seen.started_at}" if seen.started_at else "not up as pitstop launched it",
    ]
    return ", ".join(parts)
