"""The reference pages are what the code says, and every key and option has words."""

import re

import pytest
from tools.reference import DOCS, commands_page, configuration_page


@pytest.mark.parametrize(("name", "page"), [("commands.md", commands_page), ("configuration.md", configuration_page)])
def test_the_page_is_current(name, page):
    assert (DOCS / name).read_text("utf-8") == page(), "run `make docs` and commit what it writes"


@pytest.mark.parametrize("page", [commands_page, configuration_page])
def test_nothing_stands_there_without_a_meaning(page):
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in page().splitlines() if line.startswith("| `")]
    at = 1 if page is commands_page else 3
    assert not [row[0].strip() for row in rows if not row[at].strip()]
    assert len(rows) > 50


def test_every_link_between_the_documents_leads_somewhere():
    for path in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", path.read_text("utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
