"""Documents for other programs and other places: CSV of every sample, Markdown, and what `report` shows by default."""

from __future__ import annotations

from collections.abc import Iterable

from pitstop.core.documents import RunDocument, TrialDocument
from pitstop.report.labels import footer
from pitstop.report.page import METHOD, render_run, render_trial
from pitstop.report.reading import Document
from pitstop.report.run_tables import run_tables
from pitstop.report.samples import samples_csv
from pitstop.report.sentences import Sentence, production_sentence, run_caveats, run_headline, trial_headlines
from pitstop.report.table import Table, markdown_escape
from pitstop.report.trial_tables import trial_tables


def tables(document: Document) -> list[Table]:
    """What a terminal shows."""
    return trial_tables(document) if isinstance(document, TrialDocument) else run_tables(document)


def sentences(document: Document) -> list[Sentence]:
    """What the document says, the verdict first."""
    if isinstance(document, TrialDocument):
        return [*trial_headlines(document), production_sentence(document)]
    return [run_headline(document), *run_caveats(document)]


def closing_line(document: Document) -> str:
    """Who made the figures, and how."""
    tools = (run.tool for _, run in runs(document))
    return footer(next(iter(tools), {}), METHOD)


def markdown(document: Document) -> str:
    """The sentences and all tables, for an issue or a wiki."""
    title = document.name if isinstance(document, TrialDocument) else document.engine.model
    said = [f"- {markdown_escape(sentence.text)}" for sentence in sentences(document)]
    parts = [
        f"## {markdown_escape(title)}",
        "\n".join(said),
        *(table.as_markdown().rstrip() for table in tables(document)),
    ]
    return "\n\n".join([*parts, f"_{markdown_escape(closing_line(document))}_"]) + "\n"


def csv(document: Document) -> str:
    """One row per sample, full precision."""
    return samples_csv(runs(document))


def html(document: Document, *, promotion: str = "") -> str:
    """The page; `promotion` is the edit that would make the winner production, if one is to be shown."""
    if isinstance(document, TrialDocument):
        return render_trial(document, promotion=promotion)
    return render_run(document)


def runs(document: Document) -> Iterable[tuple[str, RunDocument]]:
    """Every run with the name of its arm."""
    if isinstance(document, RunDocument):
        return [("", document)]
    return [(arm.name, run) for arm in document.arms for run in arm.runs]
