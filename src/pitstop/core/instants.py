"""Points in time as other programs write them."""

from __future__ import annotations

from datetime import UTC, datetime


def epoch_s(iso: str) -> float | None:
    """Seconds since the epoch of docker's, podman's or systemd's ISO 8601; None when it is no time, or the year 1."""
    text = iso.strip().replace("Z", "+00:00")
    head, dot, rest = text.partition(".")
    if dot:  # nanoseconds: more digits than Python takes
        digits = len(rest) - len(rest.lstrip("0123456789"))
        text = f"{head}.{rest[:digits][:6]}{rest[digits:]}"
    try:
        time = datetime.fromisoformat(text)
        known = time if time.tzinfo else time.replace(tzinfo=UTC)
        return known.timestamp() if time.year > 1 else None
    except (ValueError, OverflowError):
        return None
