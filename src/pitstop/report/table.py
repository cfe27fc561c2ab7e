"""A table as a value: the command line draws it with Rich, others take Markdown, CSV or plain text from it."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pitstop.report.clean import one_line, width

Align = Literal["left", "right"]
_MARKDOWN = re.compile(r"([\\`*\[\]<>|&~])")
_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_FORMULA = ("=", "+", "-", "@")  # what a spreadsheet runs


class Tone(StrEnum):
    """What a cell means, for whoever paints it; the text alone must say the same."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    MUTED = "muted"
    STRONG = "strong"


@dataclass(frozen=True)
class Cell:
    """One cell: a single line of clean text and its tone."""

    text: str
    tone: Tone = Tone.PLAIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", one_line(self.text))


@dataclass(frozen=True)
class Column:
    title: str
    align: Align = "left"


@dataclass(frozen=True)
class Table:
    """Every row has one cell per column."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footnotes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r}: a row of {len(row)} cells under {len(self.columns)} columns")

    def as_text(self) -> str:
        """Aligned columns for a log file or a terminal without colour."""
        widths = [max(map(width, column)) for column in zip(*self._lines(), strict=True)]
        head, *body = [self._aligned(line, widths) for line in self._lines()]
        parts = [one_line(self.title), "", head, "  ".join("-" * each for each in widths), *body, *self._notes()]
        return "\n".join(parts) + "\n"

    def as_markdown(self) -> str:
        """A GitHub table under a heading; what Markdown would read is escaped."""
        head, *body = [[markdown_escape(text) for text in line] for line in self._lines()]
        rule = ["---:" if column.align == "right" else "---" for column in self.columns]
        lines = [f"| {' | '.join(line)} |" for line in (head, rule, *body)]
        notes = [line and f"- {markdown_escape(line)}" for line in self._notes()]
        return "\n".join([f"### {markdown_escape(one_line(self.title))}", "", *lines, *notes]) + "\n"

    def as_csv(self) -> str:
        """RFC 4180, with cells that a spreadsheet would run as a formula made text."""
        return csv_text(self._lines())

    def _lines(self) -> list[list[str]]:
        titles = [one_line(column.title) for column in self.columns]
        return [titles, *([cell.text for cell in row] for row in self.rows)]

    def _aligned(self, line: list[str], widths: list[int]) -> str:
        padded = (
            " " * (wide - width(text)) + text if column.align == "right" else text + " " * (wide - width(text))
            for text, wide, column in zip(line, widths, self.columns, strict=True)
        )
        return "  ".join(padded).rstrip()

    def _notes(self) -> list[str]:
        return ["", *map(one_line, self.footnotes)] if self.footnotes else []


def markdown_escape(text: str) -> str:
    """`text` as one line that Markdown shows as it is."""
    return _EDGE_UNDERSCORE.sub(r"\\_", _MARKDOWN.sub(r"\\\1", one_line(text)))


def csv_text(lines: list[list[str]]) -> str:
    """Lines of cells as CSV; a text cell that would start a formula gets an apostrophe, a number stays a number."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([_harmless(text) for text in line] for line in lines)
    return out.getvalue()


def _harmless(text: str) -> str:
    text = one_line(text)
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text
