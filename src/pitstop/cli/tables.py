"""Tables and sentences of a report on a terminal; plain text where stdout is none, so that no width cuts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pitstop.report.sentences import Sentence
    from pitstop.report.table import Table


def listed(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, terminal: bool) -> RenderableType:
    """A plain list of things, drawn like every other table."""
    from pitstop.report.table import Cell, Column, Table

    cells = tuple(tuple(Cell(text) for text in row) for row in rows)
    return drawn(Table(title, tuple(Column(name) for name in columns), cells), terminal=terminal)


def drawn(table: Table, *, terminal: bool) -> RenderableType:
    """The table with its footnotes; what a reader's pipe gets is aligned text of any width."""
    from rich.text import Text

    from pitstop.cli.rendering import rich_table

    return rich_table(table) if terminal else Text(table.as_text())


def said(sentences: list[Sentence]) -> Iterator[RenderableType]:
    """Sentences in the colours of their tones; as text, for names in them come from servers."""
    from rich.text import Text

    from pitstop.cli.rendering import STYLES

    return (Text(sentence.text, style=STYLES[sentence.tone]) for sentence in sentences)
