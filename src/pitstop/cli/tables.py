"""Tables and sentences of a report on a terminal; plain text where stdout is none, so that no width cuts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pitstop.report.sentences import Sentence
    from pitstop.report.table import Table

_STYLES = {"plain": "", "good": "green", "bad": "bold red", "warn": "yellow", "muted": "dim", "strong": "bold"}


def drawn(table: Table, *, terminal: bool) -> Iterator[RenderableType]:
    """The table with its footnotes. Text is never read as markup: names come from servers."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    if not terminal:
        yield Text(table.as_text())
        return
    rich = RichTable(title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        rich.add_column(Text(column.title), justify=column.align, overflow="fold")
    for row in table.rows:
        rich.add_row(*(Text(cell.text, style=_STYLES[cell.tone.value]) for cell in row))
    yield rich
    for note in table.footnotes:
        yield Text(note, style="dim")


def said(sentence: Sentence) -> RenderableType:
    """A sentence in the colour of its tone."""
    from rich.text import Text

    return Text(sentence.text, style=_STYLES[sentence.tone.value])
