"""What two messages of one kind have in common: everything but numbers, addresses, paths and quoted names."""

from __future__ import annotations

import hashlib
import re

_MAX_CHARS = 300
_STEPS = (
    (re.compile(r"\b0x[0-9a-fA-F]+|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,27}\b"), "<hex>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<hex>"),
    (re.compile(r"(?<![\w.])(?:/[\w.@+\-]+){2,}/?"), "<path>"),
    (re.compile(r"(?<!\w)(['\"]).{0,400}?\1(?!\w)"), "<quoted>"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "<n>"),
    (re.compile(r"\s+"), " "),
)


def template(message: str) -> str:
    """The message with everything that differs from time to time taken out."""
    text = message[: 4 * _MAX_CHARS]
    for pattern, instead in _STEPS:
        text = pattern.sub(instead, text)
    return text.strip()[:_MAX_CHARS]


def group(message: str) -> str:
    """A signature for what no signature knows: `unknown-` and eight digits that similar messages share."""
    return f"unknown-{hashlib.sha256(template(message).encode()).hexdigest()[:8]}"
