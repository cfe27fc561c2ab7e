"""Tables of `pitstop.report` drawn by Rich."""

from __future__ import annotations

from rich.table import Table as RichTable
from rich.text import Text

from pitstop.report.table import Table, Tone

STYLES = {
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.BAD: "bold red",
    Tone.WARN: "yellow",
    Tone.MUTED: "dim",
    Tone.STRONG: "bold",
}


def rich_table(table: Table) -> RichTable:
    """The same table for a terminal; cells are text, never markup."""
    drawn = RichTable(title=Text(table.title), title_justify="left", box=None, pad_edge=False, title_style="bold")
    for column in table.columns:
        drawn.add_column(Text(column.title), justify=column.align, overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(cell.text, style=STYLES[cell.tone]) for cell in row))
    if table.footnotes:
        drawn.caption = Text("\n".join(table.footnotes))
        drawn.caption_justify = "left"
    return drawn
