"""Foreign text made harmless before it reaches a terminal, a spreadsheet, a page or an SVG.

Model names, reasons and logs come from servers. Escaping for HTML is done where HTML is made (Jinja2, Markup);
here go the characters that no format may carry: terminal escapes, NUL, lone surrogates, and the marks that turn text
around.
"""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\ufffd"
# C0 and C1 controls except tab and line ends, surrogates, bidirectional overrides and isolates, XML's noncharacters.
_UNWELCOME = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
_SPACES = re.compile(r"\s+")


def clean(text: object) -> str:
    """Text without control characters; line ends stay."""
    return _UNWELCOME.sub(REPLACEMENT, str(text))


def one_line(text: object) -> str:
    """Clean text with every run of white space as one blank."""
    return _SPACES.sub(" ", clean(text)).strip()


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, the middle replaced by an ellipsis: both ends of a name tell names apart."""
    if len(text) <= limit:
        return text
    tail = max(0, (limit - 1) // 3)
    return text[: limit - 1 - tail] + "…" + (text[-tail:] if tail else "")


def width(text: str) -> int:
    """Columns on a terminal: wide East Asian characters take two, combining ones none."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
