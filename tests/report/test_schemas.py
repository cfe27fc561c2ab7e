"""The published schemas and the written description, held against the structs that make the documents."""

from __future__ import annotations

import enum
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from pitstop.core import documents
from pitstop.core.documents import encode
from pitstop.report.schemas import DOCUMENTS, document_schema
from support import documents as made

_PAGE = Path(__file__).parents[2] / "docs/documents.md"
_KINDS = [kind for kind in vars(documents).values() if isinstance(kind, type)]
_STRUCTS = [kind for kind in _KINDS if issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct]
_ENUMS = [kind for kind in _KINDS if issubclass(kind, enum.StrEnum) and kind is not enum.StrEnum]
_EXAMPLES = {"run": made.run(figures=[*made.figures(), *made.awkward_figures()]), "trial": made.trial()}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_schema_is_one_and_takes_what_pitstop_writes(name: str) -> None:
    schema = document_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(encode(_EXAMPLES[name])), schema)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_published_schema_is_the_current_one(name: str) -> None:
    published = _PAGE.parent / f"schemas/pitstop.{name}.v1.json"
    assert published.read_bytes() == encode(document_schema(name))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("run", {"schema": "other"}),
        ("run", {"version": 2}),
        ("run", {"figures": [{}]}),
        ("run", {"engine": None}),
        ("trial", {"verdicts": [json.loads(encode(made.verdict())) | {"verdict": "great"}]}),
        ("run", {"schema": None}),
        ("trial", {"production": {}}),
    ],
)
def test_the_schema_refuses_what_pitstop_does_not_write(name: str, change: dict[str, Any]) -> None:
    told = json.loads(encode(_EXAMPLES[name])) | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, document_schema(name))


@pytest.mark.parametrize("key", ["schema", "version", "id", "engine"])
def test_a_run_without_what_it_always_has_is_refused(key: str) -> None:
    told = json.loads(encode(_EXAMPLES["run"]))
    del told[key]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, document_schema("run"))


def _first_column(heading: str) -> list[str]:
    """The keys of the table under the heading that names `heading`."""
    section = re.search(rf"^##+ [^\n]*`{heading}`\n(.*?)(?=^##|\Z)", _PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert section, f"docs/documents.md has no section for {heading}"
    return re.findall(r"^\| `([a-z_0-9]+)` \|", section[1], re.MULTILINE)


@pytest.mark.parametrize("struct", _STRUCTS, ids=lambda struct: struct.__name__)
def test_every_key_is_described_in_its_order_and_no_other(struct: type[msgspec.Struct]) -> None:
    assert _first_column(struct.__name__) == [field.encode_name for field in msgspec.structs.fields(struct)]


@pytest.mark.parametrize("kind", _ENUMS, ids=lambda kind: kind.__name__)
def test_every_word_of_a_status_or_verdict_is_described(kind: type[enum.StrEnum]) -> None:
    assert _first_column(kind.__name__) == [member.value for member in kind]
