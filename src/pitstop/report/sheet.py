"""One self-contained HTML file per run or trial: no script, no request, nothing that is not escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from pitstop.report.clean import clean
from pitstop.report.sentences import Sentence
from pitstop.report.table import Table


@dataclass(frozen=True)
class Plot:
    """One plot, drawn twice: for a desk and for a phone; the style sheet shows one of them."""

    title: str
    wide: Markup
    narrow: Markup
    caption: str = ""
    half: bool = False  # stands beside another one where there is room


@dataclass(frozen=True)
class Transcript:
    """What was said, folded away: parts with their names, shown as they are."""

    title: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Fold:
    """Transcripts of one task, folded away together; `note` says what was left out."""

    title: str
    transcripts: tuple[Transcript, ...]
    note: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    lead: str = ""
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()  # shown when asked for
    notes: tuple[tuple[str, str], ...] = ()
    code: str = ""
    folds: tuple[Fold, ...] = ()

    @property
    def filled(self) -> bool:
        """Whether there is anything below the title."""
        return bool(
            self.lead or self.plots or self.notes or self.code or any(t.rows for t in self.tables + self.folded)
        )


@dataclass(frozen=True)
class Page:
    kind: str  # "trial" or "run"
    title: str
    headlines: list[Sentence]
    statements: list[Sentence]
    facts: list[tuple[str, str]]
    sections: list[Section] = field(default_factory=list)
    footer: str = ""


def render_page(page: Page) -> str:
    """The HTML text, ending in a newline."""
    style = _resource("page.css")
    sections = [section for section in page.sections if section.filled]
    html = (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            sections=sections,
            style=Markup(style),  # noqa: S704 - our own file
            style_hash=_csp_hash(style),
        )
    )
    return html.rstrip() + "\n"


def filled(tables: Iterable[Table]) -> tuple[Table, ...]:
    """The tables that have rows."""
    return tuple(table for table in tables if table.rows)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )
    environment.filters["slug"] = _slug
    environment.filters["tied"] = _tied
    return environment


def _resource(name: str) -> str:
    return files("pitstop.report").joinpath("templates", name).read_text("utf-8")


def _csp_hash(style: str) -> str:
    """The hash by which the page's policy allows this style sheet and no other."""
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def _tied(text: str) -> str:
    """A sentence whose numbers do not part from their units at the end of a line."""
    return re.sub(r"(?<=\d) (?=%|s\b|min\b|h\b|ms\b|tok/s)", "\N{NO-BREAK SPACE}", text)


def _slug(title: str) -> str:
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in title.lower())
