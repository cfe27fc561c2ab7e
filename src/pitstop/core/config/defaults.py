"""Defaults of the configuration, written as a person would write them in the file."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from pitstop.core.units import parse_duration, parse_share, parse_size


def size(text: str) -> Any:
    """A field that is `text`, a size such as `12 GiB`, unless the file says otherwise."""
    return msgspec.field(default_factory=partial(parse_size, text))


def duration(text: str) -> Any:
    """A field that is `text`, a duration such as `5 min`, unless the file says otherwise."""
    return msgspec.field(default_factory=partial(parse_duration, text))


def share(text: str) -> Any:
    """A field that is `text`, a share such as `3 %`, unless the file says otherwise."""
    return msgspec.field(default_factory=partial(parse_share, text))
