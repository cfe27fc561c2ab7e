"""`window = "01:00-06:00"`: a part of the day."""

from __future__ import annotations


def parse_window(text: str) -> tuple[int, int] | None:
    """Read `01:00-06:00` as minutes of the day; None for an empty text, ValueError for anything else."""
    if not text:
        return None
    try:
        begin, end = (_minute(part) for part in text.split("-"))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a window of the day, like '01:00-06:00'") from error
    if begin == end:
        raise ValueError(f"{text!r} is not a window of the day: it ends where it begins")
    return begin, end


def _minute(text: str) -> int:
    hours, minutes = (int(part) for part in text.strip().split(":"))
    if not (0 <= hours < 24 and 0 <= minutes < 60):
        raise ValueError(text)
    return hours * 60 + minutes
